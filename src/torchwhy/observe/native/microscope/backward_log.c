/* Runs the operations of a backward pass for the microscope and logs the ordinary ones, as backward_log.py does.

   An operation is ordinary if it writes into no argument, records no graph, takes nothing that bad values passed into,
   returns plain finite tensors, and runs in no module. All others go to Python: before they run by NotImplemented, afterwards by `look`. */

#include "../fast.h"
#include <structmember.h>

enum { MICROSCOPE, BIRTHS, RUNNING, WAITING, INFO_OF, CALL_SITE_OF, LOOK, WEAK, CURRENT_NODE, WRITERS, LOGGED, INFOS, CALL_SITE, CODE, FIELDS };

typedef struct {
    PyObject_HEAD
    PyObject *field[FIELDS];
    int instruction; /* of the frame that `CALL_SITE` belongs to; its code is `CODE` */
    unsigned long count;
    double seconds;  /* spent here, without the operations themselves */
} BackwardLog;

static int log_init(BackwardLog *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"microscope", "births", "running", "waiting", "info_of", "call_site", "look", "weak", "current_node", "writers", NULL};
    PyObject *given[LOGGED];
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$OO!O!O!OOOOOO", names, &given[MICROSCOPE], &PyDict_Type,
                                     &given[BIRTHS], &PyList_Type, &given[RUNNING], &PyList_Type, &given[WAITING],
                                     &given[INFO_OF], &given[CALL_SITE_OF], &given[LOOK], &given[WEAK], &given[CURRENT_NODE],
                                     &given[WRITERS]))
        return -1;
    for (int i = 0; i < LOGGED; i++) {
        Py_INCREF(given[i]);
        Py_XSETREF(self->field[i], given[i]);
    }
    Py_XSETREF(self->field[LOGGED], PyList_New(0));
    Py_XSETREF(self->field[INFOS], PyDict_New());
    return self->field[LOGGED] == NULL || self->field[INFOS] == NULL ? -1 : 0;
}

static int log_traverse(BackwardLog *self, visitproc visit, void *arg) {
    for (int i = 0; i < FIELDS; i++) Py_VISIT(self->field[i]);
    return 0;
}

static int log_clear(BackwardLog *self) {
    for (int i = 0; i < FIELDS; i++) Py_CLEAR(self->field[i]);
    return 0;
}

static void log_dealloc(BackwardLog *self) {
    PyObject_GC_UnTrack(self);
    log_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static int truth(PyObject *object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object, name);
    int answer = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return answer;
}

/* Return the operation's call site, a new reference. All operations that one frame starts share it. */
static PyObject *call_site(BackwardLog *self) {
    PyFrameObject *here = PyEval_GetFrame(); /* of the dispatch mode */
    PyFrameObject *back = here == NULL ? NULL : PyFrame_GetBack(here);
    if (back == NULL) return NULL;
    PyObject *code = (PyObject *)PyFrame_GetCode(back), *found = self->field[CALL_SITE];
    int instruction = PyFrame_GetLasti(back);
    if (found == NULL || code != self->field[CODE] || instruction != self->instruction) {
        found = PyObject_CallOneArg(self->field[CALL_SITE_OF], (PyObject *)back);
        if (found != NULL) {
            self->instruction = instruction;
            Py_INCREF(code);
            Py_XSETREF(self->field[CODE], code);
            Py_XSETREF(self->field[CALL_SITE], found);
        }
    }
    Py_DECREF(code);
    Py_DECREF(back);
    Py_XINCREF(found);
    return found;
}

/* Add a weak reference to the memory of a result; 0 if the result is not ordinary. */
static int keep(BackwardLog *self, PyObject *result, PyObject *written) {
    if ((PyObject *)Py_TYPE(result) != torch.tensor) return result == Py_None;
    if (!is_plain_and_finite(result)) return 0;
    if (written == NULL) return 1;
    PyObject *storage = PyObject_CallMethodNoArgs(result, NAME(untyped_storage));
    PyObject *weak = storage == NULL ? NULL : PyObject_CallOneArg(self->field[WEAK], storage);
    int kept = weak != NULL && PyList_Append(written, weak) == 0;
    Py_XDECREF(storage);
    Py_XDECREF(weak);
    return kept;
}

static int keep_all(BackwardLog *self, PyObject *result, PyObject *written) {
    if (!PyTuple_CheckExact(result) && !PyList_CheckExact(result)) return keep(self, result, written);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++)
        if (!keep(self, PySequence_Fast_GET_ITEM(result, i), written)) return 0;
    return 1;
}

/* Return 1 if the operation was logged, 0 if Python has to look at it; raises nothing. */
static int note(BackwardLog *self, PyObject *info, PyObject *node, PyObject *result) {
    int is_kept = truth(info, NAME(keeps_memory)), noted = 0;
    PyObject *written = is_kept < 0 ? NULL : PyList_New(0);
    if (written == NULL || !keep_all(self, result, is_kept ? written : NULL)) goto done;
    PyObject *seen = PyObject_GetAttr(self->field[MICROSCOPE], NAME(seen));
    long long order = seen == NULL ? -1 : PyLong_AsLongLong(seen);
    Py_XDECREF(seen);
    if (order < 0) goto done;
    PyObject *step = PyObject_GetAttr(self->field[MICROSCOPE], NAME(step));
    PyObject *name = PyObject_CallMethodNoArgs(node, NAME(name));
    PyObject *number = PyObject_CallMethodNoArgs(node, NAME(_sequence_nr));
    PyObject *way = call_site(self);
    PyObject *counted = PyLong_FromLongLong(order + 1);
    if (step != NULL && name != NULL && number != NULL && way != NULL && counted != NULL) {
        PyObject *entry = PyTuple_Pack(7, counted, info, step, name, number, way, written);
        noted = entry != NULL && PyObject_SetAttr(self->field[MICROSCOPE], NAME(seen), counted) == 0 &&
                PyList_Append(self->field[LOGGED], entry) == 0;
        Py_XDECREF(entry);
    }
    Py_XDECREF(step);
    Py_XDECREF(name);
    Py_XDECREF(number);
    Py_XDECREF(way);
    Py_XDECREF(counted);
done:
    Py_XDECREF(written);
    PyErr_Clear();
    return noted;
}

/* Tell whether the running operation got an autograd node of its own, so that it can be differentiated itself. */
static int is_recorded(BackwardLog *self) {
    long long number;
    PyObject *last = PyObject_GetAttr(self->field[MICROSCOPE], NAME(last_node_number));
    int recorded = last == NULL || !asked(torch.next_node_number, &number) || number != PyLong_AsLongLong(last);
    Py_XDECREF(last);
    return recorded;
}

/* Tell whether a tensor lies in memory that holds bad values; 1 also if unknown. */
static int is_bad(PyObject *entries, PyObject *tensor) {
    PyObject *storage = PyObject_CallMethodNoArgs(tensor, NAME(untyped_storage));
    PyObject *key = storage == NULL ? NULL : PyObject_GetAttr(storage, NAME(_cdata));
    PyObject *entry = key == NULL ? NULL : PyDict_GetItemWithError(entries, key);
    int bad = PyErr_Occurred() != NULL || (entry != NULL && !is_empty(entry, NAME(births)));
    Py_XDECREF(storage);
    Py_XDECREF(key);
    return bad;
}

static int are_bad(PyObject *entries, PyObject *value) {
    if (is_tensor(value)) return is_bad(entries, value);
    if (!PyTuple_Check(value) && !PyList_Check(value)) return PyObject_IsInstance(value, torch.tensor) != 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
        if (are_bad(entries, PySequence_Fast_GET_ITEM(value, i))) return 1;
    return 0;
}

/* Tell whether an operation takes bad values, which have to be followed. */
static int takes_bad(BackwardLog *self, PyObject *args, PyObject *keywords) {
    if (PyDict_GET_SIZE(self->field[BIRTHS]) == 0) return 0;
    PyObject *entries = PyObject_GetAttr(self->field[WRITERS], NAME(entries)), *name, *value;
    int bad = entries == NULL || !PyDict_CheckExact(entries) || are_bad(entries, args);
    Py_ssize_t place = 0;
    while (!bad && keywords != Py_None && PyDict_Check(keywords) && PyDict_Next(keywords, &place, &name, &value))
        bad = are_bad(entries, value);
    Py_XDECREF(entries);
    PyErr_Clear();
    return bad;
}

/* What an operation is, a new reference. Python's own hash of an operation takes as long as the rest of the look. */
static PyObject *info_of(BackwardLog *self, PyObject *function) {
    PyObject *key = PyLong_FromVoidPtr(function), *known = key == NULL ? NULL : PyDict_GetItemWithError(self->field[INFOS], key);
    if (known == NULL && key != NULL && !PyErr_Occurred()) {
        PyObject *info = PyObject_CallOneArg(self->field[INFO_OF], function);
        PyObject *kept = info == NULL ? NULL : PyTuple_Pack(2, info, function); /* whose address is the key */
        if (kept != NULL && PyDict_SetItem(self->field[INFOS], key, kept) == 0) known = kept;
        Py_XDECREF(kept);
        Py_XDECREF(info);
    }
    Py_XDECREF(key);
    if (known == NULL) return NULL;
    PyObject *info = PyTuple_GET_ITEM(known, 0);
    Py_INCREF(info);
    return info;
}

/* Return the node being differentiated and the operation's info, if it may be ordinary; new references. */
static int may_run(BackwardLog *self, PyObject *function, PyObject **node, PyObject **info) {
    if (PyList_GET_SIZE(self->field[RUNNING]) || PyList_GET_SIZE(self->field[WAITING]))
        return 0;
    *node = PyObject_CallNoArgs(self->field[CURRENT_NODE]);
    if (*node != NULL && *node != Py_None && !is_recorded(self)) {
        *info = info_of(self, function);
        if (*info != NULL && truth(*info, NAME(is_ordinary)) == 1) return 1;
    }
    Py_CLEAR(*node);
    Py_CLEAR(*info);
    PyErr_Clear();
    return 0;
}

/* run(function, args, kwargs or None): the result, or NotImplemented if it did not run. */
static PyObject *log_run(BackwardLog *self, PyObject *const *args, Py_ssize_t count) {
    PyObject *node = NULL, *info = NULL;
    if (count != 3 || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "run(function, args, kwargs)");
        return NULL;
    }
    int is_timed = self->count++ % CLOCKED == 0;
    double began = is_timed ? spent() : 0.0;
    if (takes_bad(self, args[1], args[2]) || !may_run(self, args[0], &node, &info)) Py_RETURN_NOTIMPLEMENTED;
    double waited = is_timed ? spent() : 0.0;
    PyObject *result = PyObject_Call(args[0], args[1], args[2] == Py_None ? NULL : args[2]);
    if (is_timed) waited = spent() - waited;
    if (result != NULL) {
        int noted = note(self, info, node, result);
        if (is_timed) self->seconds += CLOCKED * (spent() - began - waited);
        if (!noted) {
            PyObject *looked = PyObject_CallFunctionObjArgs(self->field[LOOK], info, args[0], args[1], args[2], result, NULL);
            if (looked == NULL) Py_CLEAR(result);
            Py_XDECREF(looked);
        }
    }
    Py_DECREF(node);
    Py_DECREF(info);
    return result;
}

/* Return the logged operations and start an empty list. */
static PyObject *log_take(BackwardLog *self, PyObject *unused) {
    (void)unused;
    PyObject *anew = PyList_New(0);
    if (anew == NULL) return NULL;
    PyObject *kept = self->field[LOGGED];
    self->field[LOGGED] = anew;
    return kept;
}

/* Forget the call site: a new backward pass may start elsewhere. */
static PyObject *log_begin(BackwardLog *self, PyObject *unused) {
    (void)unused;
    Py_CLEAR(self->field[CALL_SITE]);
    Py_CLEAR(self->field[CODE]);
    Py_RETURN_NONE;
}

static PyMethodDef log_methods[] = {
    {"run", (PyCFunction)(void (*)(void))log_run, METH_FASTCALL, "Run an operation, or return NotImplemented."},
    {"take", (PyCFunction)log_take, METH_NOARGS, "Return the logged operations and start an empty list."},
    {"begin", (PyCFunction)log_begin, METH_NOARGS, "Forget the call site of the last backward pass."},
    {NULL},
};

static PyMemberDef log_members[] = {
    {"kept", T_OBJECT, offsetof(BackwardLog, field[LOGGED]), READONLY, "the logged operations"},
    {"seconds", T_DOUBLE, offsetof(BackwardLog, seconds), 0, "spent here"},
    {NULL},
};

int backward_log_is_empty(PyObject *log) {
    return Py_TYPE(log) == &BackwardLogType && PyList_GET_SIZE(((BackwardLog *)log)->field[LOGGED]) == 0;
}

PyTypeObject BackwardLogType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torchwhy.observe.native._fast.BackwardLog",
    .tp_basicsize = sizeof(BackwardLog),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Logs the ordinary operations of a backward pass.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)log_init,
    .tp_dealloc = (destructor)log_dealloc,
    .tp_traverse = (traverseproc)log_traverse,
    .tp_clear = (inquiry)log_clear,
    .tp_methods = log_methods,
    .tp_members = log_members,
};
