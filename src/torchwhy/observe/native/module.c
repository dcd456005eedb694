/* The module itself: takes what it needs of torch once, and makes the names. */

#include "fast.h"
#include <time.h>

Torch torch;

#define DEFINE(name) PyObject *name_##name;
NAMES(DEFINE)
#undef DEFINE

double now(void) {
#ifdef __linux__
    struct timespec time; /* what time.perf_counter gives there */
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
#else
    PyObject *value = PyObject_CallNoArgs(torch.clock);
    double seconds = value == NULL ? 0.0 : PyFloat_AsDouble(value);
    if (value == NULL) PyErr_Clear();
    Py_XDECREF(value);
    return seconds;
#endif
}

/* CPU seconds of this thread, which a busy machine does not lengthen: for what our own work takes. */
double spent(void) {
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
#else
    return now();
#endif
}

int asked(PyObject *function, long long *number) {
    PyObject *value = PyObject_CallNoArgs(function);
    int found = value != NULL && PyLong_Check(value);
    if (found) *number = PyLong_AsLongLong(value);
    if (!found || PyErr_Occurred()) {
        PyErr_Clear();
        found = 0;
    }
    Py_XDECREF(value);
    return found;
}

int has_modes(PyObject *depth) {
    long long number;
    return !asked(depth, &number) || number != 0;
}

/* Tell whether a mode or a profiler of the program would see an operation of ours. */
int is_watched(void) {
    return has_modes(torch.function_depth) || has_modes(torch.dispatch_depth) || has_modes(torch.is_profiling);
}

int grad_enabled(void) {
    PyObject *value = PyObject_CallNoArgs(torch.is_grad_enabled);
    int answer = value == Py_True;
    if (value == NULL) PyErr_Clear();
    Py_XDECREF(value);
    return answer;
}

int is_empty(PyObject *object, PyObject *name) {
    PyObject *set = PyObject_GetAttr(object, name);
    int answer = set != NULL && PyAnySet_Check(set) && PySet_GET_SIZE(set) == 0;
    if (set == NULL) PyErr_Clear();
    Py_XDECREF(set);
    return answer;
}

int method(PyObject *object, PyObject *name, PyObject *argument) {
    PyObject *result = argument == NULL ? PyObject_CallMethodNoArgs(object, name) : PyObject_CallMethodOneArg(object, name, argument);
    if (result == NULL) PyErr_Clear();
    Py_XDECREF(result);
    return result != NULL;
}

static PyObject *begin(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"exchange", "tensor", "parameter", "clock", "dispatch_depth", "function_depth", "is_profiling",
                            "next_node_number", "is_grad_enabled", "is_neg", "module_call", "batch", NULL};
    PyObject *capsule, *given[11];
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$OOOOOOOOOOOO", names, &capsule, &given[0], &given[1], &given[2],
                                     &given[3], &given[4], &given[5], &given[6], &given[7], &given[8], &given[9], &given[10]))
        return NULL;
    PyObject **held[] = {&torch.tensor, &torch.parameter, &torch.clock, &torch.dispatch_depth, &torch.function_depth,
                         &torch.is_profiling, &torch.next_node_number, &torch.is_grad_enabled, &torch.is_neg, &torch.module_call, &torch.batch};
    for (int i = 0; i < 11; i++) {
        Py_INCREF(given[i]);
        Py_XSETREF(*held[i], given[i]);
    }
    int known = PyCapsule_CheckExact(capsule) && tensors_begin(capsule);
    PyErr_Clear();
    return PyBool_FromLong(known);
}

/* For tests: the two ways to look into a tensor. */
static PyObject *number_in(PyObject *module, PyObject *tensor) {
    double value;
    (void)module;
    if (!one_number(tensor, &value)) Py_RETURN_NONE;
    return PyFloat_FromDouble(value);
}

static PyObject *surely_finite(PyObject *module, PyObject *tensor) {
    (void)module;
    return PyBool_FromLong(is_plain_and_finite(tensor));
}

/* For tests: what `copy_memory` does after a step. */
static PyObject *copied(PyObject *module, PyObject *args) {
    PyObject *copies, *references;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &copies, &references)) return NULL;
    return PyBool_FromLong(copy_memory(copies, references));
}

/* Calls a function of ours a little later, between two instructions of the program, in the main thread. */
static int run_pending(void *function) {
    PyObject *result = PyObject_CallNoArgs((PyObject *)function);
    if (result == NULL) PyErr_Clear(); /* an exception of ours must not appear in the program */
    Py_XDECREF(result);
    Py_DECREF((PyObject *)function);
    return 0;
}

/* call_soon(function): False if too many calls wait already */
static PyObject *call_soon(PyObject *module, PyObject *function) {
    (void)module;
    Py_INCREF(function);
    if (Py_AddPendingCall(run_pending, function) == 0) Py_RETURN_TRUE;
    Py_DECREF(function);
    Py_RETURN_FALSE;
}

static PyMethodDef methods[] = {
    {"begin", (PyCFunction)(void (*)(void))begin, METH_VARARGS | METH_KEYWORDS,
     "Take what is needed of torch; False if this torch does not give access to its tensors."},
    {"number_in", number_in, METH_O, "Return the one number of a plain tensor on the CPU, else None."},
    {"surely_finite", surely_finite, METH_O, "Tell whether a tensor is plain, on the CPU, and finite throughout."},
    {"copied", copied, METH_VARARGS, "Copy plain tensors behind weak references; False if one of them is not plain."},
    {"measured", measured, METH_O, "Return NaNs, infinities of both signs, zeros, range and sum of squares, else None."},
    {"has_nonzero", has_nonzero, METH_O, "Tell whether any element is not 0; None if unknown here."},
    {"same_rows", same_rows, METH_O, "Tell whether all rows are equal; None if unknown here."},
    {"rows_apart", rows_apart, METH_O, "Return the largest difference from the first row, and the largest element."},
    {"units_at_rest", units_at_rest, METH_VARARGS, "Return how many units are always 0, and how many values are 0 or out of range."},
    {"begin_walks", begin_walks, METH_VARARGS, "Take the class of sites, the function that classifies files, the code where backward begins, and two limits."},
    {"walked", walked, METH_O, "Return the user's sites on the way up, those that called backward, and the part of torch."},
    {"call_soon", call_soon, METH_O, "Call a function between two instructions of the main thread; False if too many wait."},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_fast", "What runs at every step, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__fast(void) {
#define INTERN(name)                                 \
    name_##name = PyUnicode_InternFromString(#name); \
    if (name_##name == NULL) return NULL;
    NAMES(INTERN)
#undef INTERN
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    /* As in records.py; raise both with every change of this interface, so that an older build is not used. */
    if (PyModule_AddIntConstant(module, "EDITION", 9) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    PyTypeObject *types[] = {
        &NativeCruiseType, &EngineType, &ReadType, &ForwardType, &ChangedType, &IndexNoteType, &StateType, &DroppedType,
        &CruiseType, &EntryType, &WatchedType, &ReadingType, &BatchesType, &BatchType, &RandomType, &GuestsType,
        &ModesType, &TallyType, &TracerType, &BackwardLogType, &OrdinaryOperationsType,
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (PyModule_AddType(module, types[i]) < 0) {
            Py_DECREF(module);
            return NULL;
        }
    }
    return module;
}
