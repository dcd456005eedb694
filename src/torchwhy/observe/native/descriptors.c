/* The descriptors of descriptors.py without a Python frame: ordinary events of a cruising loop never reach Python. */

#include "fast.h"
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *original; /* what torch has there */
    PyObject *note;     /* called for an access that is not ordinary */
    PyObject *cruise;     /* asked first, whether it is ordinary */
    PyObject *extra;    /* the training state, the watched models, the attribute's name */
} Descriptor;

static int descriptor_init(Descriptor *self, PyObject *args, PyObject *keywords) {
    PyObject *original, *note, *cruise, *extra = Py_None;
    if (keywords != NULL && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "takes no keywords");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OOO!|O", &original, &note, &NativeCruiseType, &cruise, &extra)) return -1;
    if (Py_TYPE(self) == &ReadType && !IS(extra, StateType)) {
        PyErr_SetString(PyExc_TypeError, "reads are noted with a training state");
        return -1;
    }
    Py_INCREF(original);
    Py_INCREF(note);
    Py_INCREF(cruise);
    Py_INCREF(extra);
    Py_XSETREF(self->original, original);
    Py_XSETREF(self->note, note);
    Py_XSETREF(self->cruise, cruise);
    Py_XSETREF(self->extra, extra);
    return 0;
}

static int descriptor_traverse(Descriptor *self, visitproc visit, void *arg) {
    Py_VISIT(self->original);
    Py_VISIT(self->note);
    Py_VISIT(self->cruise);
    Py_VISIT(self->extra);
    return 0;
}

static int descriptor_clear(Descriptor *self) {
    Py_CLEAR(self->original);
    Py_CLEAR(self->note);
    Py_CLEAR(self->cruise);
    Py_CLEAR(self->extra);
    return 0;
}

static void descriptor_dealloc(Descriptor *self) {
    PyObject_GC_UnTrack(self);
    descriptor_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* Attributes that the descriptor does not have come from the function it replaces. */
static PyObject *descriptor_getattr(Descriptor *self, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr((PyObject *)self, name);
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    if (self->original == NULL) return NULL; /* was not initialised */
    PyErr_Clear();
    return PyObject_GetAttr(self->original, name);
}

static PyMemberDef descriptor_members[] = {
    {"original", T_OBJECT, offsetof(Descriptor, original), READONLY, "what torch has there"},
    {NULL},
};

/* Call Python. Its exceptions pass through: an exception is how a step is withheld. */
static int tell(PyObject *note, PyObject *instance) {
    PyObject *told = PyObject_CallOneArg(note, instance);
    Py_XDECREF(told);
    return told == NULL ? -1 : 0;
}

static PyObject *bind(PyObject *function, PyObject *instance, PyObject *owner) {
    descrgetfunc get = Py_TYPE(function)->tp_descr_get;
    if (get != NULL) return get(function, instance, owner);
    Py_INCREF(function);
    return function;
}

static PyObject *read_get(Descriptor *self, PyObject *instance, PyObject *owner) {
    if (instance != NULL && instance != Py_None && !FLAG(self->extra, STATE_IN_UPDATE)) {
        int ordinary = cruise_ignores_read(self->cruise, instance);
        PyErr_Clear();
        if (!ordinary && tell(self->note, instance) < 0) return NULL;
    }
    return bind(self->original, instance, owner);
}

static PyObject *forward_get(Descriptor *self, PyObject *instance, PyObject *owner) {
    PyObject *key = instance == NULL ? NULL : PyLong_FromVoidPtr(instance);
    int watched = key == NULL ? 0 : PyDict_Contains(self->extra, key);
    Py_XDECREF(key);
    if (watched == 1) {
        PyFrameObject *caller = PyEval_GetFrame();
        int ordinary = caller != NULL && cruise_count_forward(self->cruise, instance, caller);
        PyErr_Clear();
        if (caller != NULL && !ordinary) {
            PyObject *told = PyObject_CallFunctionObjArgs(self->note, instance, caller, NULL);
            if (told == NULL) return NULL;
            Py_DECREF(told);
        }
    } else if (watched < 0) {
        PyErr_Clear();
    }
    return bind(self->original, instance, owner);
}

/* Tell whether a loader counts one more batch, which a cruising loop handles here. */
static int is_kept_here(Descriptor *self, PyObject *instance, PyObject *value, PyFrameObject *frame) {
    /* An iterator of samples is assigned, too: to ask it for its truth would run code of the program. */
    if (frame == NULL || !PyLong_CheckExact(value) || PyObject_IsTrue(value) != 1) return 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    int counts = PyUnicode_CompareWithASCIIString(code->co_name, "__next__") == 0;
    Py_DECREF(code);
    int kept = counts && cruise_keep(self->cruise, instance, frame);
    PyErr_Clear();
    return kept;
}

/* Assignment: `original` is None, `note` may change the value, `extra` is the name in the instance. */
static int changed_set(Descriptor *self, PyObject *instance, PyObject *value) {
    if (self->note == NULL) {
        PyErr_SetString(PyExc_TypeError, "was not initialised");
        return -1;
    }
    PyObject *attributes = PyObject_GenericGetDict(instance, NULL);
    if (attributes == NULL) return -1;
    int done;
    if (value == NULL) {
        done = PyDict_DelItem(attributes, self->extra);
        if (done < 0 && PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_SetObject(PyExc_AttributeError, self->extra);
    } else {
        PyFrameObject *frame = PyEval_GetFrame();
        PyObject *told = value;
        if (is_kept_here(self, instance, value, frame)) Py_INCREF(told);
        else told = PyObject_CallFunctionObjArgs(self->note, instance, value, frame == NULL ? Py_None : (PyObject *)frame, NULL);
        done = told == NULL ? -1 : PyDict_SetItem(attributes, self->extra, told);
        Py_XDECREF(told);
    }
    Py_DECREF(attributes);
    return done;
}

/* The engine: looking up `run_backward` notes the variables of the frame that does. */
static PyObject *engine_getattr(Descriptor *self, PyObject *name) {
    if (name != NAME(run_backward) && PyUnicode_Compare(name, NAME(run_backward)) != 0) return descriptor_getattr(self, name);
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *locals = frame == NULL ? NULL : PyFrame_GetLocals(frame);
    PyObject *outputs = locals == NULL ? NULL : PyObject_GetItem(locals, NAME(t_outputs));
    PyObject *keywords = outputs == NULL ? NULL : PyObject_GetItem(locals, NAME(kwargs));
    int ordinary = 0;
    if (keywords != NULL && PyDict_CheckExact(keywords)) {
        PyObject *accumulates = PyDict_GetItemWithError(keywords, NAME(accumulate_grad));
        if (accumulates == NULL || accumulates == Py_True) ordinary = cruise_before_backward(self->cruise, outputs);
    }
    PyErr_Clear();
    int failed = !ordinary && locals != NULL && tell(self->note, locals) < 0;
    Py_XDECREF(locals);
    Py_XDECREF(outputs);
    Py_XDECREF(keywords);
    return failed ? NULL : PyObject_GetAttr(self->original, name);
}

/* Called with an index that a sampler gives: notes it and hands it on. */
static PyObject *index_call(Descriptor *self, PyObject *args, PyObject *keywords) {
    (void)keywords;
    if (PyTuple_GET_SIZE(args) != 1) {
        PyErr_SetString(PyExc_TypeError, "takes one index");
        return NULL;
    }
    PyObject *index = PyTuple_GET_ITEM(args, 0);
    if (tell(self->note, index) < 0) return NULL;
    Py_INCREF(index);
    return index;
}

#define DESCRIPTOR(variable, name, doc, ...)                                                  \
    PyTypeObject variable = {                                                            \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torchwhy.observe.native._fast." name, \
        .tp_doc = doc,                                                                   \
        .tp_basicsize = sizeof(Descriptor),                                                   \
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,                             \
        .tp_new = PyType_GenericNew,                                                     \
        .tp_init = (initproc)descriptor_init,                                                 \
        .tp_traverse = (traverseproc)descriptor_traverse,                                     \
        .tp_clear = (inquiry)descriptor_clear,                                                \
        .tp_dealloc = (destructor)descriptor_dealloc,                                         \
        .tp_members = descriptor_members,                                                     \
        __VA_ARGS__}

DESCRIPTOR(EngineType, "Engine", "Stands in for torch's engine.", .tp_getattro = (getattrofunc)engine_getattr);
DESCRIPTOR(ReadType, "Read", "Stands in for a way to read a number.", .tp_getattro = (getattrofunc)descriptor_getattr,
      .tp_descr_get = (descrgetfunc)read_get);
DESCRIPTOR(ForwardType, "Forward", "Stands in for a class's forward.", .tp_getattro = (getattrofunc)descriptor_getattr,
      .tp_descr_get = (descrgetfunc)forward_get);
DESCRIPTOR(ChangedType, "Changed", "Passes every assignment on.", .tp_descr_set = (descrsetfunc)changed_set);
DESCRIPTOR(IndexNoteType, "IndexNote", "Notes an index and hands it on.", .tp_call = (ternaryfunc)index_call);
