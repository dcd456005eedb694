/* Runs the ordinary operations of a forward pass for the microscope and notes them, as `Microscope._look` does.

   An operation is ordinary if it writes into no argument, and takes and gives plain tensors on the CPU whose numbers are
   finite. Everything else goes to Python: before it runs by NotImplemented, afterwards by `look`. What is noted is
   gathered first and written at the end, so that Python finds everything as it was. */

#include "../fast.h"
#include <structmember.h>

/* What Python gives. Dictionaries, lists and sets are changed in place by both sides, never exchanged. */
#define GIVEN(X)                                                                                                        \
    X(MICROSCOPE, "microscope") X(STATE, "state") X(BACKWARD_LOG, "backward_log") X(PLAN_OF, "plan_of") X(LOOK, "look") \
    X(WEAK, "weak") X(CURRENT_NODE, "current_node") X(OPERATION, "operation") X(ENTRY, "entry")                         \
    X(DATA_OPERAND, "data_operand") X(BATCH_AT, "batch_at") X(PATH_OF, "path_of") X(NAME_OF_DTYPE, "name_of_dtype")     \
    X(ROOT_GRADIENTS, "root_gradients") X(VIEW_OF, "view_of") X(ON_FORWARD, "on_forward") X(WRITERS, "writers") X(BIRTHS, "births") X(PATHS, "paths")       \
    X(VIEWS, "views") X(OTHERS, "others") X(BY_NODE_NUMBER, "by_node_number") X(MEMORY_OF_NODE, "memory_of_node")       \
    X(WAITING, "waiting") X(RUNNING, "running") X(OPERATIONS, "operations") X(WRITES, "writes") X(VIEWED, "viewed")     \
    X(USED, "used")
#define FIELD(field, name) field,
#define TEXT(field, name) name,
enum { GIVEN(FIELD) PLANS, DTYPES, FIELDS };
static const char *given_names[] = {GIVEN(TEXT)};

enum { IS_VIEW = 1, IS_MASKED = 2, IS_PRODUCT = 4, IS_ACTIVATION = 8, IS_LEFT_TO_PYTHON = 16, IS_EMPTY = 32,
       IS_DETACH = 64 }; /* bits of a plan */
enum { MOST_OPERANDS = 16, MOST_RESULTS = 8, MOST_POSITIONS = 16 };

typedef struct {
    PyObject_HEAD
    PyObject *field[FIELDS];
    PyObject *position[MOST_POSITIONS]; /* "0", "1", … */
    Py_ssize_t most_operations, most_records, most_entries;
    long long elements_of_work;
    unsigned long count;
    double seconds; /* spent here, without the operations themselves */
} Operations;

typedef struct {
    PyObject *tensor;        /* borrowed */
    PyObject *storage, *key; /* of its memory, owned */
    PyObject *source, *view; /* the operations that wrote it last and that made it a view; borrowed, None if unknown */
    Layout layout;
    int is_tracked, is_parameter;
} Seen;

typedef struct {
    Seen operand[MOST_OPERANDS], result[MOST_RESULTS];
    int operands, results;
    PyObject *entries; /* of memory; owned */
    PyObject *args, *info;
    long plan;
    long long work, order, first_node, end_of_nodes;
    int with_graph;
    const char *phase; /* NULL: a forward pass */
    CallSite site;
} Look;

static void forget(Look *look) {
    for (int i = 0; i < look->operands + look->results; i++) {
        Seen *seen = i < look->operands ? &look->operand[i] : &look->result[i - look->operands];
        Py_CLEAR(seen->storage);
        Py_CLEAR(seen->key);
    }
    Py_CLEAR(look->entries);
    call_site_clear(&look->site);
}

static PyObject *no_arguments; /* an empty tuple */

static int number_of(PyObject *object, PyObject *name, long long *number) {
    PyObject *value = PyObject_GetAttr(object, name);
    int is_whole = value != NULL && PyLong_Check(value);
    if (is_whole) *number = PyLong_AsLongLong(value);
    Py_XDECREF(value);
    return is_whole && !PyErr_Occurred();
}

static int set_number(PyObject *object, PyObject *name, long long number) {
    PyObject *value = PyLong_FromLongLong(number);
    int done = value != NULL && PyObject_SetAttr(object, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

/* Set an attribute to a new reference, which is released. */
static int set(PyObject *object, PyObject *name, PyObject *value) {
    int done = value != NULL && PyObject_SetAttr(object, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

/* ---- gathering: 0 if Python has to look ---- */

static int take_tensor(PyObject *tensor, Seen *seen) {
    memset(seen, 0, sizeof *seen);
    if (!layout_of(tensor, &seen->layout)) return 0;
    PyObject *tracked = PyObject_GetAttr(tensor, NAME(requires_grad));
    Py_XDECREF(tracked);
    if (tracked != Py_True && tracked != Py_False) return 0;
    seen->storage = PyObject_CallMethodNoArgs(tensor, NAME(untyped_storage));
    seen->key = seen->storage == NULL ? NULL : PyObject_GetAttr(seen->storage, NAME(_cdata));
    seen->tensor = tensor;
    seen->is_tracked = tracked == Py_True;
    seen->is_parameter = (PyObject *)Py_TYPE(tensor) == torch.parameter;
    seen->source = seen->view = Py_None;
    if (seen->key != NULL && PyLong_CheckExact(seen->key)) return 1;
    Py_CLEAR(seen->storage);
    Py_CLEAR(seen->key);
    return 0;
}

/* Take the tensors of an argument, or of a result: a tensor, or a list with tensors in it. */
static int take(PyObject *value, Seen *into, int *count, int most) {
    if (value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value)) return 1;
    if (is_tensor(value)) return *count < most && take_tensor(value, &into[*count]) && ++*count;
    if (PyTuple_Check(value) || PyList_Check(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
            PyObject *item = PySequence_Fast_GET_ITEM(value, i);
            if (is_tensor(item)) {
                if (*count >= most || !take_tensor(item, &into[*count])) return 0;
                ++*count;
            } else if (PyObject_IsInstance(item, torch.tensor) != 0) {
                return 0;
            }
        }
        return 1;
    }
    return PyObject_IsInstance(value, torch.tensor) == 0;
}

static int take_all(Look *look, PyObject *args, PyObject *keywords, PyObject *result) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (!take(PyTuple_GET_ITEM(args, i), look->operand, &look->operands, MOST_OPERANDS)) return 0;
    Py_ssize_t place = 0;
    PyObject *name, *value;
    while (keywords != NULL && PyDict_Next(keywords, &place, &name, &value))
        if (!take(value, look->operand, &look->operands, MOST_OPERANDS)) return 0;
    return take(result, look->result, &look->results, MOST_RESULTS) && look->results > 0;
}

/* The key of a view of memory, as `_geometry` makes it; a new reference. */
static PyObject *geometry(const Seen *seen, int follows) {
    PyObject *shape = PyTuple_New(seen->layout.dimensions), *offset = NULL, *strides = NULL, *key = NULL;
    for (int d = 0; shape != NULL && d < seen->layout.dimensions; d++) {
        PyObject *size = PyLong_FromLongLong(seen->layout.size[d]);
        if (size == NULL) Py_CLEAR(shape);
        else PyTuple_SET_ITEM(shape, d, size);
    }
    if (shape != NULL) offset = PyObject_CallMethodNoArgs(seen->tensor, NAME(storage_offset));
    if (offset != NULL) strides = PyObject_CallMethodNoArgs(seen->tensor, NAME(stride));
    if (strides != NULL) key = PyTuple_Pack(5, seen->key, offset, shape, strides, follows ? Py_True : Py_False);
    Py_XDECREF(shape);
    Py_XDECREF(offset);
    Py_XDECREF(strides);
    return key;
}

/* Look a view up: 1 if it is known, -1 for an exception. */
static int known_view(Operations *self, Seen *seen, int follows) {
    PyObject *key = geometry(seen, follows);
    PyObject *view = key == NULL ? NULL : PyDict_GetItemWithError(self->field[VIEWS], key);
    Py_XDECREF(key);
    if (view != NULL) seen->view = view;
    return view != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* Find the operation that made a view, as `_view_of` does; it stays in the dictionary of views. */
static int find_view(Operations *self, Seen *seen) {
    int is_viewed = PySet_Contains(self->field[VIEWED], seen->key);
    if (is_viewed <= 0) return is_viewed == 0;
    int is_detached = 0, found = 0; /* and then made to require gradients */
    if (seen->is_tracked && !seen->is_parameter) {
        PyObject *leaf = PyObject_GetAttr(seen->tensor, NAME(is_leaf));
        if (leaf == NULL) return 0;
        is_detached = leaf == Py_True;
        Py_DECREF(leaf);
    }
    if (!is_detached) found = known_view(self, seen, seen->is_tracked);
    if (found == 0 && seen->is_tracked) {
        found = known_view(self, seen, 0);
        if (found == 1 && !is_detached) { /* perhaps a view of a parameter, made without recording a graph */
            PyObject *view = PyObject_CallOneArg(self->field[VIEW_OF], seen->tensor);
            if (view == NULL) return 0;
            seen->view = view; /* the dictionary holds it */
            Py_DECREF(view);
        }
    }
    return found >= 0;
}

/* Find which operation wrote an operand last; 0 if bad values passed there. */
static int find_source(Operations *self, Look *look, Seen *seen) {
    PyObject *entry = PyDict_GetItemWithError(look->entries, seen->key);
    if (entry != NULL) {
        if (!is_empty(entry, NAME(births))) return 0;
        PyObject *last = PyObject_GetAttr(entry, NAME(last_operation));
        if (last == NULL) return 0;
        seen->source = last;
        Py_DECREF(last); /* the entry holds it */
    }
    if (seen->source == Py_None && seen->layout.kind != IS_REAL && PyDict_GET_SIZE(self->field[OTHERS])) {
        PyObject *known = PyDict_GetItemWithError(self->field[OTHERS], seen->key);
        if (known != NULL && PyTuple_Check(known)) seen->source = PyTuple_GET_ITEM(known, 1);
    }
    if (PyErr_Occurred()) return 0;
    /* Results of tests for bad values are followed up to where they are used. */
    int is_followed = seen->source != Py_None && PyDict_GET_SIZE(self->field[BIRTHS]) > 0;
    return !is_followed || (is_empty(seen->source, NAME(tested)) && is_empty(seen->source, NAME(compared)));
}

/* Tell whether an operation weighs log-probabilities, whose facts Python takes. */
static int weighs_a_softmax(const Seen *seen) {
    if (seen->source == Py_None) return 0;
    PyObject *info = PyObject_GetAttr(seen->source, NAME(info));
    PyObject *base = info == NULL ? NULL : PyObject_GetAttr(info, NAME(base));
    int weighs = base == NULL || PyUnicode_CompareWithASCIIString(base, "_log_softmax") == 0;
    Py_XDECREF(info);
    Py_XDECREF(base);
    return weighs;
}

/* Tell whether memory is new, or holds only what was written in full: `_unsafe_view` hands its operand's on. */
static int may_write(Look *look, Seen *seen) {
    PyObject *entry = PyDict_GetItemWithError(look->entries, seen->key);
    if (entry == NULL) return !PyErr_Occurred();
    PyObject *unwritten = PyObject_GetAttr(entry, NAME(unwritten));
    Py_XDECREF(unwritten);
    return unwritten == Py_None && is_empty(entry, NAME(births)) && !(look->plan & IS_EMPTY);
}

/* Tell whether the results are ordinary, and count the work of looking at them. */
static int are_ordinary(Operations *self, Look *look) {
    for (int i = 0; i < look->results; i++) {
        Seen *seen = &look->result[i];
        if (look->plan & IS_VIEW) continue;
        if (seen->layout.kind == IS_REAL && seen->layout.count > 0) {
            /* Memory that is only allocated holds any numbers. */
            if (look->plan & IS_EMPTY ? seen->layout.width < 4 : !is_plain_and_finite(seen->tensor)) return 0;
            if (!may_write(look, seen)) return 0;
            look->work += seen->layout.count / self->elements_of_work;
        } else if (seen->layout.kind == IS_COMPLEX && seen->layout.count > 0) {
            return 0;
        }
    }
    return 1;
}

/* Tell whether the program issued an operation, itself or through a module, or an optimizer that calls a closure; other
   work of torch's own is logged more briefly. */
static int is_of_program(Operations *self, Look *look) {
    const char *issuer = PyUnicode_AsUTF8(look->site.issuer);
    if (issuer == NULL) return 0;
    if (strcmp(issuer, "user") == 0 || strcmp(issuer, "library") == 0 || strcmp(issuer, "optim") == 0) return 1;
    if (PyList_GET_SIZE(self->field[RUNNING]) == 0 || PyTuple_GET_SIZE(look->site.within) == 0) return 0;
    PyObject *innermost = PyTuple_GET_ITEM(look->site.within, 0);
    return PyTuple_Check(innermost) && PyTuple_GET_ITEM(innermost, 0) != self->field[ROOT_GRADIENTS];
}

static int choose_phase(Look *look) {
    const char *part = PyUnicode_AsUTF8(look->site.part);
    if (part == NULL || strcmp(part, "clip") == 0) return 0;
    look->phase = strcmp(part, "data") == 0 ? "data" : strcmp(part, "optim") == 0 ? "update" : NULL;
    return 1;
}

static int gather(Operations *self, Look *look, PyObject *keywords, PyObject *result) {
    PyObject *microscope = self->field[MICROSCOPE];
    long long number;
    if (!take_all(look, look->args, keywords, result)) return 0;
    look->entries = PyObject_GetAttr(self->field[WRITERS], NAME(entries));
    if (look->entries == NULL || !PyDict_CheckExact(look->entries)) return 0;
    if (!number_of(microscope, NAME(work), &look->work) || !number_of(microscope, NAME(seen), &look->order)) return 0;
    look->work++;
    look->order++;
    if (!are_ordinary(self, look)) return 0;
    PyObject *limit = PyObject_GetAttr(microscope, NAME(limit));
    double most = limit == NULL ? -1.0 : PyFloat_AsDouble(limit);
    Py_XDECREF(limit);
    if ((double)look->work > most || PyDict_GET_SIZE(look->entries) + look->results >= self->most_entries) return 0;
    for (int i = 0; i < look->operands; i++) {
        if (!find_source(self, look, &look->operand[i]) || !find_view(self, &look->operand[i])) return 0;
        if ((look->plan & IS_PRODUCT) && weighs_a_softmax(&look->operand[i])) return 0;
    }
    if (!number_of(microscope, NAME(last_node_number), &look->first_node) || !asked(torch.next_node_number, &number)) return 0;
    look->end_of_nodes = number;
    look->with_graph = grad_enabled();
    return call_site_of(PyEval_GetFrame(), &look->site) && is_of_program(self, look) && choose_phase(look);
}

/* ---- describing: new references, NULL with an exception ---- */

static PyObject *sizes_of(const Seen *seen) {
    PyObject *sizes = PyList_New(seen->layout.dimensions);
    for (int d = 0; sizes != NULL && d < seen->layout.dimensions; d++) {
        PyObject *size = PyLong_FromLongLong(seen->layout.size[d]);
        if (size == NULL) Py_CLEAR(sizes);
        else PyList_SET_ITEM(sizes, d, size);
    }
    return sizes;
}

static PyObject *parameter_id(const Seen *seen) {
    if (seen->is_parameter) return PyLong_FromVoidPtr(seen->tensor);
    if (seen->view == Py_None) Py_RETURN_NONE;
    PyObject *ids = PyObject_GetAttr(seen->view, NAME(parameter_ids)), *first;
    if (ids == NULL) return NULL;
    Py_ssize_t count = PySequence_Size(ids);
    if (count > 0) {
        first = PySequence_GetItem(ids, 0);
    } else {
        first = Py_None;
        Py_INCREF(first);
    }
    Py_DECREF(ids);
    return first;
}

/* Describe an operand that may hold samples, as `data_operands` does. */
static PyObject *data_operand_of(Operations *self, const Seen *seen, int position) {
    long long width = seen->layout.width, extent = 1, first = 0;
    PyObject *strides = PyObject_CallMethodNoArgs(seen->tensor, NAME(stride)), *found = NULL;
    if (strides == NULL || !PyTuple_Check(strides) || PyTuple_GET_SIZE(strides) != seen->layout.dimensions) {
        Py_XDECREF(strides);
        return NULL;
    }
    for (int d = 0; d < seen->layout.dimensions; d++) {
        long long stride = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, d));
        if (d == 0) first = stride;
        else extent += (seen->layout.size[d] - 1) * stride;
    }
    Py_DECREF(strides);
    PyObject *address = PyLong_FromLongLong((long long)(intptr_t)seen->layout.data);
    PyObject *batch = address == NULL ? NULL : PyObject_CallOneArg(self->field[BATCH_AT], address);
    if (batch != NULL)
        found = named_tuple(self->field[DATA_OPERAND], Py_BuildValue("(iOLLLiO)", position, address, (long long)seen->layout.size[0],
                                                                     first * width, extent * width, seen->layout.dimensions, batch));
    Py_XDECREF(address);
    Py_XDECREF(batch);
    return found;
}

static PyObject *data_operands_of(Operations *self, const Look *look) {
    PyObject *found = PyList_New(0);
    for (int i = 0; found != NULL && i < look->operands; i++) {
        const Seen *seen = &look->operand[i];
        if (seen->is_tracked || seen->is_parameter || !seen->layout.dimensions || !seen->layout.count) continue;
        PyObject *one = data_operand_of(self, seen, i);
        if (one == NULL || PyList_Append(found, one) < 0) Py_CLEAR(found);
        Py_XDECREF(one);
    }
    PyObject *all = found == NULL ? NULL : PyList_AsTuple(found);
    Py_XDECREF(found);
    return all;
}

/* The arguments that are no tensors, with their positions. */
static PyObject *scalars_of(Operations *self, const Look *look) {
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(look->args); i++) {
        PyObject *value = PyTuple_GET_ITEM(look->args, i), *pair;
        int holds_tensors = is_tensor(value);
        if (PyTuple_Check(value) || PyList_Check(value))
            for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(value); j++)
                holds_tensors |= is_tensor(PySequence_Fast_GET_ITEM(value, j));
        if (holds_tensors) continue;
        pair = PyTuple_Pack(2, self->position[i], value);
        if (pair == NULL || PyList_Append(found, pair) < 0) Py_CLEAR(found);
        Py_XDECREF(pair);
    }
    return found;
}

/* The arguments that may hide values: no activations. */
static PyObject *masks_of(const Look *look) {
    PyObject *kept = PyTuple_New(PyTuple_GET_SIZE(look->args));
    for (Py_ssize_t i = 0; kept != NULL && i < PyTuple_GET_SIZE(look->args); i++) {
        PyObject *value = PyTuple_GET_ITEM(look->args, i);
        for (int j = 0; j < look->operands; j++)
            if (look->operand[j].tensor == value && look->operand[j].is_tracked) value = Py_None;
        Py_INCREF(value);
        PyTuple_SET_ITEM(kept, i, value);
    }
    return kept;
}

static PyObject *dtype_of(Operations *self, PyObject *tensor) {
    PyObject *dtype = PyObject_GetAttr(tensor, NAME(dtype));
    PyObject *known = dtype == NULL ? NULL : PyDict_GetItemWithError(self->field[DTYPES], dtype);
    Py_XINCREF(known);
    if (known == NULL && dtype != NULL && !PyErr_Occurred()) {
        known = PyObject_CallOneArg(self->field[NAME_OF_DTYPE], dtype);
        if (known != NULL && PyDict_SetItem(self->field[DTYPES], dtype, known) < 0) Py_CLEAR(known);
    }
    Py_XDECREF(dtype);
    return known;
}

static PyObject *path(Operations *self) {
    Py_ssize_t depth = PyList_GET_SIZE(self->field[RUNNING]);
    if (depth == 0) Py_RETURN_NONE;
    PyObject *module = PyList_GET_ITEM(self->field[RUNNING], depth - 1), *key = PyLong_FromVoidPtr(module);
    PyObject *known = key == NULL ? NULL : PyDict_GetItemWithError(self->field[PATHS], key);
    Py_XDECREF(key);
    if (known != NULL) {
        Py_INCREF(known);
        return known;
    }
    return PyErr_Occurred() ? NULL : PyObject_CallOneArg(self->field[PATH_OF], module);
}

/* Write into the operation what is known of its operands. */
static int describe_operands(Operations *self, Look *look, PyObject *made) {
    int count = look->operands, good = 1;
    PyObject *inputs = PyTuple_New(count), *through = PyTuple_New(count), *shapes = PyList_New(count);
    PyObject *tracked = PyList_New(count), *parameters = PyList_New(count), *leaves = PyList_New(0);
    static PyObject *as_parameter, *as_input;
    if (as_parameter == NULL) as_parameter = PyUnicode_InternFromString("parameter");
    if (as_input == NULL) as_input = PyUnicode_InternFromString("input");
    if (!inputs || !through || !shapes || !tracked || !parameters || !leaves || !as_parameter || !as_input) good = 0;
    for (int i = 0; good && i < count; i++) {
        Seen *seen = &look->operand[i];
        Py_INCREF(seen->source);
        PyTuple_SET_ITEM(inputs, i, seen->source);
        Py_INCREF(seen->view);
        PyTuple_SET_ITEM(through, i, seen->view);
        PyObject *sizes = sizes_of(seen), *id = parameter_id(seen);
        good = sizes != NULL && id != NULL;
        PyList_SET_ITEM(shapes, i, sizes);
        PyList_SET_ITEM(parameters, i, id);
        PyList_SET_ITEM(tracked, i, PyBool_FromLong(seen->is_tracked));
        if (good && seen->is_parameter) good = PySet_Add(self->field[USED], id) == 0 && PyList_Append(leaves, as_parameter) == 0;
        else if (good && seen->source == Py_None) good = PyList_Append(leaves, as_input) == 0;
    }
    struct { PyObject *name, *value; } all[] = {
        {NAME(inputs), inputs}, {NAME(through), through}, {NAME(input_shapes), shapes},
        {NAME(tracked), tracked}, {NAME(parameter_ids), parameters}, {NAME(leaves), leaves},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (good) good = PyObject_SetAttr(made, all[i].name, all[i].value) == 0;
        Py_XDECREF(all[i].value);
    }
    return good;
}

static int describe_place(Operations *self, Look *look, PyObject *made) {
    const CallSite *site = &look->site;
    return PyObject_SetAttr(made, NAME(sites), site->sites) == 0 &&
           PyObject_SetAttr(made, NAME(outer), site->outer) == 0 && PyObject_SetAttr(made, NAME(issuer), site->issuer) == 0 &&
           PyObject_SetAttr(made, NAME(within), site->within) == 0 && set(made, NAME(module), path(self)) &&
           (look->phase == NULL || set(made, NAME(phase), PyUnicode_InternFromString(look->phase)));
}

/* Make the operation's record; everything that it needs is at hand, and nothing else changes. */
static PyObject *describe(Operations *self, Look *look) {
    PyTypeObject *type = (PyTypeObject *)self->field[OPERATION];
    PyObject *made = type->tp_new(type, no_arguments, NULL), *step = PyObject_GetAttr(self->field[MICROSCOPE], NAME(next_step));
    int is_recorded = look->end_of_nodes > look->first_node;
    int good = made != NULL && step != NULL && set_number(made, NAME(order), look->order) &&
               PyObject_SetAttr(made, NAME(info), look->info) == 0 && PyObject_SetAttr(made, NAME(step), step) == 0 &&
               describe_place(self, look, made) && (!is_recorded || set_number(made, NAME(node_number), look->end_of_nodes - 1)) &&
               (!is_recorded || !(look->plan & IS_MASKED) || set(made, NAME(kept), masks_of(look))) &&
               set(made, NAME(data_operands), data_operands_of(self, look)) && set(made, NAME(scalars), scalars_of(self, look)) &&
               (look->with_graph || PyObject_SetAttr(made, NAME(grad_mode), Py_False) == 0) &&
               set(made, NAME(shape), sizes_of(&look->result[0])) &&
               set(made, NAME(dtype), dtype_of(self, look->result[0].tensor)) && describe_operands(self, look, made);
    Py_XDECREF(step);
    if (!good) Py_CLEAR(made);
    return made;
}

/* ---- noting: 0 with an exception ---- */

static int note_nodes(Operations *self, Look *look, PyObject *made) {
    if (look->end_of_nodes <= look->first_node) return 1;
    for (long long node = look->first_node; node < look->end_of_nodes; node++) {
        PyObject *number = PyLong_FromLongLong(node);
        int done = number != NULL && PyDict_SetItem(self->field[BY_NODE_NUMBER], number, made) == 0;
        Py_XDECREF(number);
        if (!done) return 0;
    }
    if (!set_number(self->field[MICROSCOPE], NAME(last_node_number), look->end_of_nodes)) return 0;
    if (PyDict_GET_SIZE(self->field[MEMORY_OF_NODE]) + PyList_GET_SIZE(self->field[WRITES]) >= self->most_records) return 1;
    PyObject *keys = PyList_New(look->operands + look->results);
    for (int i = 0; keys != NULL && i < look->operands + look->results; i++) {
        PyObject *key = i < look->operands ? look->operand[i].key : look->result[i - look->operands].key;
        Py_INCREF(key);
        PyList_SET_ITEM(keys, i, key);
    }
    PyObject *number = PyLong_FromLongLong(look->end_of_nodes - 1), *pair = keys == NULL ? NULL : PyTuple_Pack(2, made, keys);
    int done = number != NULL && pair != NULL && PyDict_SetItem(self->field[MEMORY_OF_NODE], number, pair) == 0;
    Py_XDECREF(number);
    Py_XDECREF(pair);
    Py_XDECREF(keys);
    return done;
}

static int note_view(Operations *self, Look *look, Seen *seen, PyObject *made) {
    int follows = look->operands > 0 && look->operand[0].is_tracked && look->with_graph;
    PyObject *key = geometry(seen, follows);
    int done = key != NULL && PyDict_SetItem(self->field[VIEWS], key, made) == 0 && PySet_Add(self->field[VIEWED], seen->key) == 0;
    Py_XDECREF(key);
    return done;
}

/* Remember who wrote a piece of memory: as an entry of the memory's writers, or that of integers among the others. */
static int note_writer(Operations *self, Look *look, Seen *seen, PyObject *made) {
    int is_real = seen->layout.kind == IS_REAL;
    if (is_real && seen->layout.count == 0) return 1;
    PyObject *before = is_real ? PyDict_GetItemWithError(look->entries, seen->key) : NULL;
    if (before != NULL) return PyObject_SetAttr(before, NAME(last_operation), made) == 0;
    if (PyErr_Occurred()) return 0;
    PyObject *reference = PyObject_CallOneArg(self->field[WEAK], seen->storage), *known = NULL;
    if (reference != NULL && is_real) {
        PyTypeObject *type = (PyTypeObject *)self->field[ENTRY];
        known = type->tp_new(type, no_arguments, NULL);
        if (known != NULL && !(PyObject_SetAttr(known, NAME(weak), reference) == 0 && PyObject_SetAttr(known, NAME(last_operation), made) == 0 &&
                               set(known, NAME(births), PyFrozenSet_New(NULL)) && PyObject_SetAttr(known, NAME(unwritten), look->plan & IS_EMPTY ? made : Py_None) == 0))
            Py_CLEAR(known);
    } else if (reference != NULL) {
        known = PyTuple_Pack(2, reference, made);
    }
    int done = known != NULL && PyDict_SetItem(is_real ? look->entries : self->field[OTHERS], seen->key, known) == 0;
    Py_XDECREF(reference);
    Py_XDECREF(known);
    return done;
}

/* Return 1 if the operation is noted, 0 if Python has to look at it; raises nothing. */
static int note(Operations *self, Look *look, PyObject *keywords, PyObject *result, PyObject **made) {
    *made = gather(self, look, keywords, result) ? describe(self, look) : NULL;
    if (*made == NULL) {
        PyErr_Clear();
        return 0;
    }
    PyObject *microscope = self->field[MICROSCOPE];
    long long without;
    int good = set_number(microscope, NAME(seen), look->order) && set_number(microscope, NAME(work), look->work) &&
               note_nodes(self, look, *made) && PyList_Append(self->field[OPERATIONS], *made) == 0;
    if (good && !look->with_graph && number_of(microscope, NAME(without_graph), &without))
        good = set_number(microscope, NAME(without_graph), without + 1);
    for (int i = 0; good && i < look->results; i++)
        good = look->plan & IS_VIEW ? note_view(self, look, &look->result[i], *made) : note_writer(self, look, &look->result[i], *made);
    PyErr_Clear();
    return 1;
}

/* ---- running ---- */

/* Return the plan of an operation that may be ordinary: its info, borrowed, and the bits. */
static PyObject *plan_for(Operations *self, PyObject *function, long *bits) {
    PyObject *key = PyLong_FromVoidPtr(function), *plan = key == NULL ? NULL : PyDict_GetItemWithError(self->field[PLANS], key);
    if (plan == NULL && key != NULL && !PyErr_Occurred()) {
        PyObject *made = PyObject_CallOneArg(self->field[PLAN_OF], function); /* (info, bits) */
        PyObject *kept = made != NULL && PyTuple_Check(made) && PyTuple_GET_SIZE(made) == 2
                             ? PyTuple_Pack(3, PyTuple_GET_ITEM(made, 0), PyTuple_GET_ITEM(made, 1), function) /* whose address is the key */
                             : NULL;
        if (kept != NULL && PyDict_SetItem(self->field[PLANS], key, kept) == 0) plan = kept;
        Py_XDECREF(kept);
        Py_XDECREF(made);
    }
    Py_XDECREF(key);
    if (plan == NULL) return NULL;
    *bits = PyLong_AsLong(PyTuple_GET_ITEM(plan, 1));
    return PyTuple_GET_ITEM(plan, 0);
}

/* Tell whether the next operation may be ordinary, as far as one knows before it runs. */
static int may_run(Operations *self, PyObject *args) {
    if (FLAG(self->field[STATE], STATE_IN_UPDATE) || PyList_GET_SIZE(self->field[WAITING]) || PyTuple_GET_SIZE(args) > MOST_POSITIONS) return 0;
    if (PyList_GET_SIZE(self->field[OPERATIONS]) >= self->most_operations || has_modes(torch.function_depth)) return 0;
    if (!backward_log_is_empty(self->field[BACKWARD_LOG])) return 0;
    PyObject *node = PyObject_CallNoArgs(self->field[CURRENT_NODE]);
    Py_XDECREF(node);
    return node == Py_None;
}

static int tell_python(Operations *self, Look *look, PyObject *const *args, PyObject *result) {
    PyObject *told = PyObject_CallFunctionObjArgs(self->field[LOOK], look->info, args[0], args[1], args[2], result, NULL);
    Py_XDECREF(told);
    return told != NULL;
}

/* Tell whether a value that is detached has no graph that it would leave: a gradient on its way into `.grad`. */
static int leaves_no_graph(Operations *self, PyObject *args) {
    if (PyList_GET_SIZE(self->field[WAITING]) || PyTuple_GET_SIZE(args) != 1 || !is_tensor(PyTuple_GET_ITEM(args, 0))) return 0;
    PyObject *tracked = PyObject_GetAttr(PyTuple_GET_ITEM(args, 0), NAME(requires_grad));
    Py_XDECREF(tracked);
    return tracked == Py_False;
}

/* run(function, args, kwargs or None): the result, or NotImplemented if it did not run. */
static PyObject *operations_run(Operations *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyTuple_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "run(function, args, kwargs)");
        return NULL;
    }
    PyObject *keywords = args[2] != Py_None && PyDict_CheckExact(args[2]) ? args[2] : NULL;
    Look look;
    look.operands = look.results = 0;
    look.entries = NULL;
    memset(&look.site, 0, sizeof look.site);
    look.info = plan_for(self, args[0], &look.plan);
    if (look.info != NULL && (look.plan & IS_DETACH) && (keywords == NULL || PyDict_GET_SIZE(keywords) == 0) && leaves_no_graph(self, args[1]))
        return PyObject_Call(args[0], args[1], NULL);
    if (look.info == NULL || (look.plan & (IS_LEFT_TO_PYTHON | IS_DETACH)) || !may_run(self, args[1])) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    look.args = args[1];
    PyObject *result = PyObject_Call(args[0], args[1], keywords), *made = NULL;
    if (result == NULL) return NULL;
    int is_timed = self->count++ % CLOCKED == 0;
    double began = is_timed ? spent() : 0.0;
    int noted = note(self, &look, keywords, result, &made), is_good = 1;
    if (is_timed && noted) self->seconds += CLOCKED * (spent() - began);
    if (!noted) {
        is_good = tell_python(self, &look, args, result);
    } else if ((look.plan & IS_ACTIVATION) && look.phase == NULL && look.result[0].layout.kind == IS_REAL && look.result[0].layout.count > 0) {
        PyObject *told = PyObject_CallFunctionObjArgs(self->field[ON_FORWARD], made, look.result[0].tensor, NULL);
        if (told == NULL) PyErr_Clear();
        Py_XDECREF(told);
    }
    forget(&look);
    Py_XDECREF(made);
    if (!is_good) Py_CLEAR(result);
    return result;
}

/* ---- the object ---- */

static int operations_init(Operations *self, PyObject *args, PyObject *keywords) {
    static const char *numbers[] = {"most_operations", "most_records", "most_entries", "elements_of_work"};
    Py_ssize_t number[4];
    if (no_arguments == NULL) no_arguments = PyTuple_New(0);
    if (no_arguments == NULL || PyTuple_GET_SIZE(args) || keywords == NULL) {
        PyErr_SetString(PyExc_TypeError, "takes keywords");
        return -1;
    }
    for (int i = 0; i < PLANS; i++) {
        PyObject *value = PyDict_GetItemString(keywords, given_names[i]);
        int fits = value != NULL && (i < BIRTHS || (i < WAITING ? PyDict_CheckExact(value) : i < VIEWED ? PyList_CheckExact(value) : PySet_CheckExact(value)));
        if (!fits || (i == STATE && !IS(value, StateType)) || ((i == OPERATION || i == ENTRY) && !PyType_Check(value))) {
            PyErr_Format(PyExc_TypeError, "lacks %s", given_names[i]);
            return -1;
        }
        Py_INCREF(value);
        Py_XSETREF(self->field[i], value);
    }
    for (int i = 0; i < 4; i++) {
        PyObject *value = PyDict_GetItemString(keywords, numbers[i]);
        number[i] = value == NULL ? -1 : PyLong_AsSsize_t(value);
        if (number[i] <= 0) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "lacks %s", numbers[i]);
            return -1;
        }
    }
    self->most_operations = number[0], self->most_records = number[1], self->most_entries = number[2], self->elements_of_work = number[3];
    for (int i = 0; i < MOST_POSITIONS; i++) {
        Py_XSETREF(self->position[i], PyUnicode_FromFormat("%d", i));
        if (self->position[i] == NULL) return -1;
    }
    Py_XSETREF(self->field[PLANS], PyDict_New());
    Py_XSETREF(self->field[DTYPES], PyDict_New());
    return self->field[PLANS] == NULL || self->field[DTYPES] == NULL ? -1 : 0;
}

static int operations_traverse(Operations *self, visitproc visit, void *arg) {
    for (int i = 0; i < FIELDS; i++) Py_VISIT(self->field[i]);
    return 0;
}

static int operations_clear(Operations *self) {
    for (int i = 0; i < FIELDS; i++) Py_CLEAR(self->field[i]);
    for (int i = 0; i < MOST_POSITIONS; i++) Py_CLEAR(self->position[i]);
    return 0;
}

static void operations_dealloc(Operations *self) {
    PyObject_GC_UnTrack(self);
    operations_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef operations_methods[] = {
    {"run", (PyCFunction)(void (*)(void))operations_run, METH_FASTCALL, "Run an operation, or return NotImplemented."},
    {NULL},
};

static PyMemberDef operations_members[] = {
    {"seconds", T_DOUBLE, offsetof(Operations, seconds), 0, "spent here"},
    {NULL},
};

PyTypeObject OrdinaryOperationsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torchwhy.observe.native._fast.OrdinaryOperations",
    .tp_basicsize = sizeof(Operations),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Notes the ordinary operations of a forward pass.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)operations_init,
    .tp_dealloc = (destructor)operations_dealloc,
    .tp_traverse = (traverseproc)operations_traverse,
    .tp_clear = (inquiry)operations_clear,
    .tp_methods = operations_methods,
    .tp_members = operations_members,
};
