/* A trace function for exceptions only: in Python, it would run at every call. */

#include "fast.h"

typedef struct {
    PyObject_HEAD
    PyObject *note; /* called with the frame and (type, value, traceback) */
    Py_ssize_t left; /* calls and returns after which to stop */
    int is_on;
} Tracer;

static void stop(Tracer *self) {
    if (!self->is_on) return;
    self->is_on = 0;
    PyThreadState *state = PyThreadState_Get();
    if (state->c_traceobj == (PyObject *)self) PyEval_SetTrace(NULL, NULL);
}

static int trace(PyObject *object, PyFrameObject *frame, int what, PyObject *arg) {
    Tracer *self = (Tracer *)object;
    if (what == PyTrace_EXCEPTION) {
        PyObject *told = PyObject_CallFunctionObjArgs(self->note, (PyObject *)frame, arg, NULL);
        if (told == NULL) PyErr_Clear();
        Py_XDECREF(told);
    } else if (--self->left <= 0) {
        Py_INCREF(self);
        stop(self);
        Py_DECREF(self);
    }
    return 0;
}

static PyObject *tracer_begin(Tracer *self, PyObject *events) {
    Py_ssize_t limit = PyNumber_AsSsize_t(events, PyExc_OverflowError);
    if (limit == -1 && PyErr_Occurred()) return NULL;
    self->left = limit;
    self->is_on = 1;
    PyEval_SetTrace(trace, (PyObject *)self);
    Py_RETURN_NONE;
}

static PyObject *tracer_end(Tracer *self, PyObject *unused) {
    (void)unused;
    stop(self);
    Py_RETURN_NONE;
}

static int tracer_init(Tracer *self, PyObject *args, PyObject *keywords) {
    PyObject *note;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O", &note)) return -1;
    Py_INCREF(note);
    Py_XSETREF(self->note, note);
    return 0;
}

static int tracer_traverse(Tracer *self, visitproc visit, void *arg) {
    Py_VISIT(self->note);
    return 0;
}

static int tracer_clear(Tracer *self) {
    Py_CLEAR(self->note);
    return 0;
}

static void tracer_dealloc(Tracer *self) {
    PyObject_GC_UnTrack(self);
    tracer_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef tracer_methods[] = {
    {"begin", (PyCFunction)tracer_begin, METH_O, "Watch this thread for so many calls and returns at most."},
    {"end", (PyCFunction)tracer_end, METH_NOARGS, "Stop watching, unless another trace function is on by now."},
    {NULL},
};

PyTypeObject TracerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torchwhy.observe.native._fast.Tracer",
    .tp_doc = "Reports exceptions and nothing else.",
    .tp_basicsize = sizeof(Tracer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)tracer_init,
    .tp_traverse = (traverseproc)tracer_traverse,
    .tp_clear = (inquiry)tracer_clear,
    .tp_dealloc = (destructor)tracer_dealloc,
    .tp_methods = tracer_methods,
};
