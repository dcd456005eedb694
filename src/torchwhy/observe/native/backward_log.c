/* Runs the operations of a backward pass for the microscope, and keeps of the ordinary ones what glance.py would.

   Ordinary is one that writes into nothing, records no graph, gives plain finite tensors, and runs in no module. Every
   other one is handed to Python: before it ran by NotImplemented, after it ran by `look`. */

#include "fast.h"
#include <structmember.h>

enum { MICROSCOPE, BIRTHS, RUNNING, WAITING, INFO_OF, LOOK_AROUND, LOOK, WEAK, CURRENT_NODE, GLIMPSES, AROUND, CODE, FIELDS };

typedef struct {
    PyObject_HEAD
    PyObject *field[FIELDS];
    int instruction; /* of the frame that `AROUND` was found for, whose code is `CODE` */
    double seconds;  /* spent here, without the operations themselves */
} Film;

static int film_init(Film *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"microscope", "births", "running", "waiting", "info_of", "look_around", "look", "weak", "current_node", NULL};
    PyObject *given[GLIMPSES];
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$OO!O!O!OOOOO", names, &given[MICROSCOPE], &PyDict_Type,
                                     &given[BIRTHS], &PyList_Type, &given[RUNNING], &PyList_Type, &given[WAITING],
                                     &given[INFO_OF], &given[LOOK_AROUND], &given[LOOK], &given[WEAK], &given[CURRENT_NODE]))
        return -1;
    for (int i = 0; i < GLIMPSES; i++) {
        Py_INCREF(given[i]);
        Py_XSETREF(self->field[i], given[i]);
    }
    Py_XSETREF(self->field[GLIMPSES], PyList_New(0));
    return self->field[GLIMPSES] == NULL ? -1 : 0;
}

static int film_traverse(Film *self, visitproc visit, void *arg) {
    for (int i = 0; i < FIELDS; i++) Py_VISIT(self->field[i]);
    return 0;
}

static int film_clear(Film *self) {
    for (int i = 0; i < FIELDS; i++) Py_CLEAR(self->field[i]);
    return 0;
}

static void film_dealloc(Film *self) {
    PyObject_GC_UnTrack(self);
    film_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static int truth(PyObject *object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object, name);
    int answer = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return answer;
}

/* The way to the operation, a new reference: the same for all that one place of the program, or torch's engine, runs. */
static PyObject *around(Film *self) {
    PyFrameObject *here = PyEval_GetFrame(); /* of the dispatch mode */
    PyFrameObject *back = here == NULL ? NULL : PyFrame_GetBack(here);
    if (back == NULL) return NULL;
    PyObject *code = (PyObject *)PyFrame_GetCode(back), *found = self->field[AROUND];
    int instruction = PyFrame_GetLasti(back);
    if (found == NULL || code != self->field[CODE] || instruction != self->instruction) {
        found = PyObject_CallOneArg(self->field[LOOK_AROUND], (PyObject *)back);
        if (found != NULL) {
            self->instruction = instruction;
            Py_INCREF(code);
            Py_XSETREF(self->field[CODE], code);
            Py_XSETREF(self->field[AROUND], found);
        }
    }
    Py_DECREF(code);
    Py_DECREF(back);
    Py_XINCREF(found);
    return found;
}

/* Add a weak reference to the memory of a result; 0 if the result is not ordinary. */
static int keep(Film *self, PyObject *result, PyObject *written) {
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

static int keep_all(Film *self, PyObject *result, PyObject *written) {
    if (!PyTuple_CheckExact(result) && !PyList_CheckExact(result)) return keep(self, result, written);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++)
        if (!keep(self, PySequence_Fast_GET_ITEM(result, i), written)) return 0;
    return 1;
}

/* 1 if the operation was noted as it is, 0 if Python has to look; never an exception. */
static int note(Film *self, PyObject *info, PyObject *node, PyObject *result) {
    int is_kept = truth(info, NAME(keeps_memory)), noted = 0;
    PyObject *written = is_kept < 0 ? NULL : PyList_New(0);
    if (written == NULL || !keep_all(self, result, is_kept ? written : NULL)) goto done;
    PyObject *seen = PyObject_GetAttr(self->field[MICROSCOPE], NAME(seen));
    long long order = seen == NULL ? -1 : PyLong_AsLongLong(seen) + 1;
    Py_XDECREF(seen);
    PyObject *step = PyObject_GetAttr(self->field[MICROSCOPE], NAME(step));
    PyObject *name = PyObject_CallMethodNoArgs(node, NAME(name));
    PyObject *number = PyObject_CallMethodNoArgs(node, NAME(_sequence_nr));
    PyObject *way = around(self);
    PyObject *counted = order < 0 ? NULL : PyLong_FromLongLong(order);
    if (step != NULL && name != NULL && number != NULL && way != NULL && counted != NULL) {
        PyObject *glimpse = PyTuple_Pack(7, counted, info, step, name, number, way, written);
        noted = glimpse != NULL && PyObject_SetAttr(self->field[MICROSCOPE], NAME(seen), counted) == 0 &&
                PyList_Append(self->field[GLIMPSES], glimpse) == 0;
        Py_XDECREF(glimpse);
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

/* Tell whether the operation in hand has got a node of its own, so that it will be differentiated, too. */
static int is_recorded(Film *self) {
    long long number;
    PyObject *last = PyObject_GetAttr(self->field[MICROSCOPE], NAME(last_sequence));
    int recorded = last == NULL || !asked(torch.next_sequence, &number) || number != PyLong_AsLongLong(last);
    Py_XDECREF(last);
    return recorded;
}

/* The node that is being differentiated and what is known of the operation, if it may be ordinary; new references. */
static int may_run(Film *self, PyObject *function, PyObject **node, PyObject **info) {
    if (PyDict_GET_SIZE(self->field[BIRTHS]) || PyList_GET_SIZE(self->field[RUNNING]) || PyList_GET_SIZE(self->field[WAITING]))
        return 0;
    *node = PyObject_CallNoArgs(self->field[CURRENT_NODE]);
    if (*node != NULL && *node != Py_None && !is_recorded(self)) {
        *info = PyObject_CallOneArg(self->field[INFO_OF], function);
        if (*info != NULL && truth(*info, NAME(is_ordinary)) == 1) return 1;
    }
    Py_CLEAR(*node);
    Py_CLEAR(*info);
    PyErr_Clear();
    return 0;
}

/* run(function, args, kwargs or None): the result, or NotImplemented if it did not run. */
static PyObject *film_run(Film *self, PyObject *const *args, Py_ssize_t count) {
    PyObject *node = NULL, *info = NULL;
    if (count != 3 || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "run(function, args, kwargs)");
        return NULL;
    }
    double began = now();
    if (!may_run(self, args[0], &node, &info)) Py_RETURN_NOTIMPLEMENTED;
    double waited = now();
    PyObject *result = PyObject_Call(args[0], args[1], args[2] == Py_None ? NULL : args[2]);
    waited = now() - waited;
    if (result != NULL) {
        int noted = note(self, info, node, result);
        self->seconds += now() - began - waited;
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

/* Return what was kept, and begin anew. */
static PyObject *film_take(Film *self, PyObject *unused) {
    (void)unused;
    PyObject *anew = PyList_New(0);
    if (anew == NULL) return NULL;
    PyObject *kept = self->field[GLIMPSES];
    self->field[GLIMPSES] = anew;
    return kept;
}

/* A new backward pass: what was found of the way to an operation may hold no longer. */
static PyObject *film_begin(Film *self, PyObject *unused) {
    (void)unused;
    Py_CLEAR(self->field[AROUND]);
    Py_CLEAR(self->field[CODE]);
    Py_RETURN_NONE;
}

static PyMethodDef film_methods[] = {
    {"run", (PyCFunction)(void (*)(void))film_run, METH_FASTCALL, "Run an operation, or return NotImplemented."},
    {"take", (PyCFunction)film_take, METH_NOARGS, "Return what was kept, and begin anew."},
    {"begin", (PyCFunction)film_begin, METH_NOARGS, "A backward pass begins."},
    {NULL},
};

static PyMemberDef film_members[] = {
    {"kept", T_OBJECT, offsetof(Film, field[GLIMPSES]), READONLY, "what was kept so far"},
    {"seconds", T_DOUBLE, offsetof(Film, seconds), 0, "spent here"},
    {NULL},
};

PyTypeObject FilmType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torchwhy.observe.native._fast.Film",
    .tp_basicsize = sizeof(Film),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Keeps what is ordinary in a backward pass.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)film_init,
    .tp_dealloc = (destructor)film_dealloc,
    .tp_traverse = (traverseproc)film_traverse,
    .tp_clear = (inquiry)film_clear,
    .tp_methods = film_methods,
    .tp_members = film_members,
};
