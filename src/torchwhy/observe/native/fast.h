/* What the files of the accelerator share.

   Every function that returns "handled or not" keeps one rule: it first checks that everything is ordinary, then it
   writes. Everything else, errors included, it leaves to the Python code, which finds all objects unchanged. */

#ifndef TORCHWHY_FAST_H
#define TORCHWHY_FAST_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#if PY_VERSION_HEX < 0x030B0000
#error "frames cannot be asked for their locals before Python 3.11"
#endif
#ifdef Py_GIL_DISABLED
#error "written for an interpreter with its lock"
#endif

/* ---- records.c: base classes of the Python classes that a step touches. Their fields are Python attributes of the
   names in records.c, and plain memory here. ---- */

typedef struct {
    PyObject_HEAD
    PyObject *object[8];
    long long whole[4];
    double real[2];
    char flag[4];
} Record;

extern PyTypeObject StateType, DroppedType, CruiseType, EntryType, WatchedType, ReadingType, BatchesType, BatchType,
    RandomType, GuestsType, ModesType, TallyType;

#define RECORD(thing) ((Record *)(thing))
#define IS(thing, type) ((thing) != NULL && PyObject_TypeCheck((PyObject *)(thing), &type))
#define OBJECT(thing, field) (RECORD(thing)->object[field])
#define WHOLE(thing, field) (RECORD(thing)->whole[field])
#define REAL(thing, field) (RECORD(thing)->real[field])
#define FLAG(thing, field) (RECORD(thing)->flag[field])

/* The object of a weak reference, borrowed from whoever keeps it alive; None if it is gone. */
static inline PyObject *referent(PyObject *reference) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object = NULL;
    int found = PyWeakref_GetRef(reference, &object);
    if (found < 0) PyErr_Clear();
    Py_XDECREF(object);
    return found > 0 ? object : Py_None;
#else
    return PyWeakref_GetObject(reference);
#endif
}

enum { STATE_LOSSES, STATE_LAST_READ, STATE_TOLD_SHAPES, STATE_DROPPED };
enum { STATE_STEP, STATE_BACKWARDS, STATE_NEXT_NODE_BEFORE, STATE_NEXT_NODE };
enum { STATE_BEGAN };
enum { STATE_IN_UPDATE, STATE_BAD_EVALUATIONS };
enum { DROPPED_IN_A_ROW };
enum { CRUISE_ENTRIES, CRUISE_CHECKED, CRUISE_LOSS, CRUISE_RANDOM, CRUISE_COPY_OF, CRUISE_BUFFERS };
enum { CRUISE_STEPS, CRUISE_SERIAL, CRUISE_LOOKOUT };
enum { CRUISE_SECONDS, CRUISE_UNTIL };
enum { CRUISE_ON, CRUISE_IS_ALONE, CRUISE_COPIES, CRUISE_IS_PLAIN };
enum { ENTRY_REFERENCE, ENTRY_WATCHED, ENTRY_MEMBERS, ENTRY_READING, ENTRY_RATES, ENTRY_LOSSES };
enum { ENTRY_INDEX, ENTRY_MOST };
enum { ENTRY_HIGHEST };
enum { WATCHED_STEPS, WATCHED_BATCHES_AT_LAST_STEP, WATCHED_NEXT_SAMPLE };
enum { READING_ARE_SMALL };
enum { READING_IS_POSSIBLE };
enum { BATCHES_RECENT, BATCHES_SHAPES, BATCHES_SITES, BATCHES_VERSIONS, BATCHES_RANDOM, BATCHES_FOLLOWING, BATCHES_SEEN };
enum { BATCHES_DRAWN, BATCHES_SERIAL, BATCHES_SIZE };
enum { BATCHES_LOOK_FROM };
enum { BATCH_ITERATOR, BATCH_DATA, BATCH_DRAWN_INDICES, BATCH_RANDOM_STATE, BATCH_SITES, BATCH_VERSIONS, BATCH_ORIGINALS };
enum { BATCH_SERIAL, BATCH_SIZE };
enum { BATCH_TRAINS };
enum { RANDOM_STATE };
enum { RANDOM_STILL, RANDOM_ASKED };
enum { GUESTS_SECONDS, GUESTS_LIGHT_SECONDS };
enum { MODES_RECENT, MODES_TALLIES };
enum { TALLY_COUNT, TALLY_STEPS, TALLY_LAST_STEP, TALLY_BACKWARDS };
enum { TALLY_FEEDS, TALLY_ENDED };

/* ---- module.c: what torch provides, and the names of attributes. ---- */

typedef struct {
    PyObject *tensor;          /* torch.Tensor */
    PyObject *parameter;       /* torch.nn.Parameter */
    PyObject *clock;           /* time.perf_counter */
    PyObject *dispatch_depth;  /* how many dispatch modes are active */
    PyObject *function_depth;  /* how many function modes are active */
    PyObject *is_profiling;    /* whether a profiler records */
    PyObject *next_node_number;   /* number of the next autograd node */
    PyObject *is_grad_enabled;
    PyObject *is_neg;          /* torch.Tensor.is_neg */
    PyObject *module_call;     /* code object of a module's call */
    PyObject *batch;           /* the class of kept batches */
} Torch;
extern Torch torch;

#define NAMES(X)                                                                                           \
    X(_cdata) X(base) X(births) X(compared) X(data_operands) X(dtype) X(entries) X(grad_mode) X(info) X(input_shapes) X(inputs) X(is_leaf)       \
    X(issuer) X(kept) X(last_operation) X(leaves) X(limit) X(log) X(module) X(next_step) X(node_number) X(order) X(outer) X(parameter_ids)  \
    X(phase) X(scalars) X(shape) X(sites) X(storage_offset) X(stride) X(tested) X(through) X(tracked) X(unwritten) X(wants) X(weak) X(within)          \
    X(without_graph) X(work)                                                                                                        \
    X(_memory) X(_sequence_nr) X(_waiting) X(accumulate_grad) X(append) X(clear) X(data) X(detach) X(forget_before) X(grad) X(is_ordinary) X(keeps_memory) \
    X(kwargs) X(last_node_number) X(lr) X(name) X(param_groups) X(params) X(pop) X(popleft) X(requires_grad) X(rest) X(run_backward) X(seen) X(step) X(t_outputs) X(take) \
    X(training) X(untyped_storage)
#define DECLARE(name) extern PyObject *name_##name;
NAMES(DECLARE)
#undef DECLARE
#define NAME(name) name_##name

double now(void);
double spent(void);
int asked(PyObject *function, long long *number); /* 1 if it returned an integer */
int has_modes(PyObject *depth);
int is_watched(void);                   /* of one kind; 1 also if unknown */
int grad_enabled(void);
int is_empty(PyObject *object, PyObject *name);    /* 1 if a set of an object has no elements; raises nothing */
int method(PyObject *object, PyObject *name, PyObject *argument); /* 1 if the call succeeded; drops its result */

/* ---- tensors.c ---- */

enum { MOST_DIMENSIONS = 8 };
typedef struct {
    int dimensions;
    int64_t size[MOST_DIMENSIONS];
} Shape;

int tensors_begin(PyObject *capsule);
int is_tensor(PyObject *object); /* a plain tensor or parameter, no subclass */
int one_number(PyObject *tensor, double *value); /* 1 if it is a plain tensor with one real number on the CPU */
int is_plain_and_finite(PyObject *tensor);       /* 1 yes, 0 no or unknown */
int has_shape(PyObject *tensor, const Shape *shape);
int copy_memory(PyObject *copies, PyObject *references); /* of tensors behind weak references; 1 if all are plain and copied */

typedef struct {
    const void *data;
    int64_t count, size[MOST_DIMENSIONS];
    int is_double, dimensions, in_order; /* in_order: row-major */
} Values;
int plain_values(PyObject *tensor, Values *values); /* 1 if elements do not overlap, leave no gaps, and have their own sign */

enum { IS_REAL, IS_WHOLE, IS_COMPLEX };
typedef struct {
    const void *data;
    int64_t count, size[MOST_DIMENSIONS];
    int dimensions, kind, width; /* of an element, in bytes */
} Layout;
int layout_of(PyObject *tensor, Layout *layout); /* 1 if it is a plain tensor with memory on the CPU */

/* ---- measures.c: methods of the module ---- */

PyObject *measured(PyObject *module, PyObject *tensor);
PyObject *has_nonzero(PyObject *module, PyObject *tensor);
PyObject *same_rows(PyObject *module, PyObject *tensor);
PyObject *rows_apart(PyObject *module, PyObject *tensor);
PyObject *units_at_rest(PyObject *module, PyObject *args);

/* ---- descriptors.c ---- */

extern PyTypeObject EngineType, ReadType, ForwardType, ChangedType, IndexNoteType;

/* ---- call_sites.c: methods of the module ---- */

PyObject *begin_walks(PyObject *module, PyObject *args);
PyObject *walked(PyObject *module, PyObject *frame);
PyObject *named_tuple(PyObject *type, PyObject *fields); /* without running Python; takes `fields`, a tuple or NULL */

typedef struct {
    PyObject *sites, *outer, *part, *issuer, *within; /* as in `CallSite`, owned */
} CallSite;
int call_site_of(PyFrameObject *frame, CallSite *found); /* 0 with an exception, or before `begin_walks` */
void call_site_clear(CallSite *site);

/* ---- backward_log.c and ordinary_operations.c ---- */

extern PyTypeObject BackwardLogType, OrdinaryOperationsType;
int backward_log_is_empty(PyObject *log); /* 0 also for any other object */

/* ---- exception_watchers.c ---- */

extern PyTypeObject TracerType;

/* ---- cruise.c and between_steps.c: 1 if the event was ordinary and is handled. ---- */

enum { MOST_FORWARDS = 8, MOST_LEAVES = 16, MOST_WAITING = 256 /* forwards, as RECENT in modes.py */ };

typedef struct {
    PyObject *tally, *code; /* owned */
    void *model;
    int place, training, grad;
} KnownForward;

typedef struct {
    PyObject_HEAD
    PyObject *cruise, *state, *batches, *modes, *log, *guests; /* their Python twins use these */
    PyObject *before, *after;                                     /* Cruise's hooks around an optimizer's step */
    PyObject *gradients;                                          /* of the step that is being made */
    double rate_change;
    long long most_bytes, batches_without_step, lines_at_once, slots, still, seldom, inputs_compared;
    KnownForward forwards[MOST_FORWARDS];
    int next_forward;
    PyObject *shapes_of; /* the list that `shapes` copies, owned */
    Shape shapes[MOST_LEAVES];
} NativeCruise;

extern PyTypeObject NativeCruiseType;
void let_gradients_go(NativeCruise *self);
int cruise_before_backward(PyObject *cruise, PyObject *outputs);
int cruise_keep(PyObject *cruise, PyObject *iterator, PyFrameObject *frame);
int cruise_count_forward(PyObject *cruise, PyObject *model, PyFrameObject *caller);
int cruise_ignores_read(PyObject *cruise, PyObject *tensor);
int random_is_kept(NativeCruise *cruise, PyObject *random);

/* Our own time is measured at one step in so many and counted for all: reading a clock costs as much as a step. */
enum { TIMED = 8 };

/* The same for the operations that the microscope sees, whose kinds repeat from layer to layer: a prime number. */
enum { CLOCKED = 7 };

#endif
