/* One ordinary step at cruising speed, on the objects of cruise.py.

   Names and rules are those of cruise.py: change a rule in both.
   tests/guest/test_native.py trains the same programs both ways and compares every event. */

#include "fast.h"
#include <math.h>

/* Release the gradients of a step: it is made, or was given up by an exception and the next iteration begins. */
void let_gradients_go(NativeCruise *self) {
    if (PyList_GET_SIZE(self->gradients) > 0) PyList_SetSlice(self->gradients, 0, PyList_GET_SIZE(self->gradients), NULL);
}

/* The tally of a forward that waits for its backward pass; borrowed, NULL if it is none. */
static PyObject *tally_of(PyObject *forward) {
    PyObject *tally = forward != NULL && PyTuple_CheckExact(forward) ? PyTuple_GET_ITEM(forward, 0) : NULL;
    return IS(tally, TallyType) ? tally : NULL;
}

/* Tell whether ModeCounter.backward_ran has only to credit the waiting forwards: all are known to feed a loss, and they
   are not two of one place, of which one may have been lost. Looks at a few, because a decoder may run for each word. */
static int all_feed(PyObject *recent) {
    Py_ssize_t waiting = PyObject_Size(recent);
    if (waiting < 0 || waiting > MOST_WAITING) return 0;
    PyObject *before = NULL; /* borrowed: `recent` holds it */
    for (Py_ssize_t i = 0; i < waiting; i++) {
        PyObject *forward = PySequence_GetItem(recent, i), *tally = tally_of(forward);
        Py_XDECREF(forward);
        if (tally == NULL || !FLAG(tally, TALLY_FEEDS) || (waiting == 2 && tally == before)) return 0;
        before = tally;
    }
    return 1;
}

/* ModeCounter.backward_ran, after `all_feed`: one backward pass for each place, and no forward waits any more. */
static void credit_forwards(PyObject *recent) {
    PyObject *credited[MOST_WAITING];
    Py_ssize_t waiting = PyObject_Size(recent), count = 0;
    for (Py_ssize_t i = 0; i < waiting && i < MOST_WAITING; i++) {
        PyObject *forward = PySequence_GetItem(recent, i), *tally = tally_of(forward);
        Py_XDECREF(forward);
        Py_ssize_t place = 0;
        while (place < count && credited[place] != tally) place++;
        if (tally == NULL || place < count) continue;
        credited[count++] = tally;
        WHOLE(tally, TALLY_BACKWARDS)++;
    }
    if (waiting > 0) method(recent, NAME(clear), NULL);
}

/* Cruise.around_backward: a loss that is about to be differentiated. */
int cruise_before_backward(PyObject *object, PyObject *outputs) {
    NativeCruise *self = (NativeCruise *)object;
    double value;
    long long node_number;
    let_gradients_go(self);
    if (!FLAG(self->cruise, CRUISE_ON) || !FLAG(self->cruise, CRUISE_IS_PLAIN)) return 0;
    if (!PyTuple_CheckExact(outputs) || PyTuple_GET_SIZE(outputs) != 1) return 0;
    int timed = WHOLE(self->cruise, CRUISE_STEPS) % TIMED == 0;
    double began = timed ? spent() : 0.0;
    if (!one_number(PyTuple_GET_ITEM(outputs, 0), &value)) return 0;

    PyObject *recent = OBJECT(self->modes, MODES_RECENT), *losses = OBJECT(self->state, STATE_LOSSES);
    if (recent == NULL || losses == NULL || !PyList_CheckExact(losses) || !all_feed(recent)) return 0;
    PyObject *number = PyFloat_FromDouble(value);
    int handled = number != NULL && asked(torch.next_node_number, &node_number) && PyList_Append(losses, number) == 0;
    if (handled) {
        credit_forwards(recent);
        WHOLE(self->state, STATE_NEXT_NODE_BEFORE) = WHOLE(self->state, STATE_NEXT_NODE);
        WHOLE(self->state, STATE_NEXT_NODE) = node_number;
        WHOLE(self->state, STATE_BACKWARDS)++;
        Py_INCREF(Py_None);
        Py_XSETREF(OBJECT(self->state, STATE_LAST_READ), Py_None);
        if (timed) REAL(self->cruise, CRUISE_SECONDS) += TIMED * (spent() - began);
    }
    Py_XDECREF(number);
    return handled;
}

/* A learning rate counts as unchanged if it moved by too little to record. `before` is it, or a weak reference. */
static int rate_is_known(NativeCruise *self, PyObject *rate, PyObject *before, PyObject *told) {
    if (rate == before || (rate == NULL && before == Py_None)) return 1;
    if (rate != NULL && PyWeakref_CheckRef(before) && referent(before) == rate) return 1;
    if (rate == NULL || !PyFloat_CheckExact(rate) || !PyFloat_CheckExact(told)) return 0;
    double known = PyFloat_AS_DOUBLE(told);
    return fabs(PyFloat_AS_DOUBLE(rate) - known) <= self->rate_change * fabs(known);
}

/* Tell whether one group is the known one: the id of it and of its parameters, how many, learning rate. */
static int is_same_group(NativeCruise *self, PyObject *group, PyObject *member, PyObject *told) {
    if (!PyDict_CheckExact(group) || !PyTuple_CheckExact(member) || PyTuple_GET_SIZE(member) != 4) return 0;
    PyObject *parameters = PyDict_GetItemWithError(group, NAME(params));
    if (parameters == NULL || !PyList_CheckExact(parameters)) return 0;
    if (PyLong_AsVoidPtr(PyTuple_GET_ITEM(member, 0)) != group) return 0;
    if (PyLong_AsVoidPtr(PyTuple_GET_ITEM(member, 1)) != parameters) return 0;
    if (PyList_GET_SIZE(parameters) != PyLong_AsSsize_t(PyTuple_GET_ITEM(member, 2))) return 0;
    return rate_is_known(self, PyDict_GetItemWithError(group, NAME(lr)), PyTuple_GET_ITEM(member, 3), told);
}

/* Entry.holds_the_same. */
static int holds_the_same(NativeCruise *self, PyObject *entry, PyObject *groups) {
    PyObject *members = OBJECT(entry, ENTRY_MEMBERS), *rates = OBJECT(entry, ENTRY_RATES);
    if (members == NULL || rates == NULL || !PyList_CheckExact(members) || !PyList_CheckExact(rates)) return 0;
    Py_ssize_t count = PyList_GET_SIZE(members);
    if (PyList_GET_SIZE(groups) != count || PyList_GET_SIZE(rates) != count) return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!is_same_group(self, PyList_GET_ITEM(groups, i), PyList_GET_ITEM(members, i), PyList_GET_ITEM(rates, i))) return 0;
    return 1;
}

/* Check one parameter's gradient if it is small: 1 fine, 0 bad or unknown. */
static int is_fine(NativeCruise *self, PyObject *parameter) {
    PyObject *gradient = PyObject_GetAttr(parameter, NAME(grad));
    if (gradient == NULL) return 0;
    int fine = gradient == Py_None || is_plain_and_finite(gradient);
    int held = fine && PyList_Append(self->gradients, gradient) == 0;
    Py_DECREF(gradient);
    return held;
}

/* Reading.total: the small gradients here, the large ones by torch, which has many threads for them.

   The gradients are held until the step is made: the optimizer asks for the same ones, and to make their Python
   objects twice would cost more than to read them. */
static int gradients_are_fine(NativeCruise *self, PyObject *reading, PyObject *optimizer, PyObject *groups) {
    PyObject *are_small = OBJECT(reading, READING_ARE_SMALL);
    if (!FLAG(reading, READING_IS_POSSIBLE) || are_small == NULL || !PyBytes_CheckExact(are_small)) return 0;
    Py_ssize_t position = 0, known = PyBytes_GET_SIZE(are_small);
    int has_large = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups); i++) {
        PyObject *parameters = PyDict_GetItemWithError(PyList_GET_ITEM(groups, i), NAME(params));
        if (parameters == NULL || !PyList_CheckExact(parameters)) return 0;
        for (Py_ssize_t place = 0; place < PyList_GET_SIZE(parameters); place++, position++) {
            PyObject *parameter = PyList_GET_ITEM(parameters, place);
            if (position >= known || !is_tensor(parameter)) return 0;
            if (!PyBytes_AS_STRING(are_small)[position]) has_large = 1;
            else if (!is_fine(self, parameter)) return 0;
        }
    }
    if (!has_large) return 1;
    if (has_modes(torch.dispatch_depth)) return 0;
    PyObject *total = PyObject_CallMethodOneArg(reading, NAME(rest), optimizer);
    int fine = total != NULL && PyFloat_Check(total) && isfinite(PyFloat_AS_DOUBLE(total));
    Py_XDECREF(total);
    return fine;
}

/* StepLog.add, while there is room. */
static int add_to_log(NativeCruise *self, long long step, long long optimizer, double loss, double milliseconds) {
    struct {
        int64_t step, optimizer;
        double loss, milliseconds;
    } slot = {step + 1, optimizer, loss, milliseconds};
    PyObject *memory = PyObject_GetAttr(self->log, NAME(_memory)), *waiting = PyObject_GetAttr(self->log, NAME(_waiting));
    PyObject *number = PyLong_FromLongLong(step);
    Py_buffer buffer;
    int added = 0;
    if (memory != NULL && memory != Py_None && waiting != NULL && PyList_CheckExact(waiting) && number != NULL
        && PyList_GET_SIZE(waiting) + 1 < self->lines_at_once && PyObject_GetBuffer(memory, &buffer, PyBUF_WRITABLE) == 0) {
        added = buffer.len >= self->slots * (long long)sizeof slot && PyList_Append(waiting, number) == 0;
        if (added) memcpy((char *)buffer.buf + (step % self->slots) * sizeof slot, &slot, sizeof slot);
        PyBuffer_Release(&buffer);
    }
    Py_XDECREF(memory);
    Py_XDECREF(waiting);
    Py_XDECREF(number);
    return added;
}

/* The entry of an optimizer; borrowed. */
static PyObject *entry_of(NativeCruise *self, PyObject *optimizer) {
    PyObject *entries = OBJECT(self->cruise, CRUISE_ENTRIES), *entry = NULL;
    PyObject *key = PyLong_FromVoidPtr(optimizer);
    if (key != NULL && entries != NULL && PyDict_CheckExact(entries)) entry = PyDict_GetItemWithError(entries, key);
    Py_XDECREF(key);
    if (!IS(entry, EntryType) || !IS(OBJECT(entry, ENTRY_READING), ReadingType)) return NULL;
    PyObject *reference = OBJECT(entry, ENTRY_REFERENCE);
    if (reference == NULL || !PyWeakref_Check(reference) || referent(reference) != optimizer) return NULL;
    return entry;
}

/* The number and the gradients of a step are fine, and the step is recorded: 1, else 0. */
static int is_recorded(NativeCruise *self, PyObject *entry, PyObject *optimizer, double loss, double started) {
    if (OBJECT(self->batches, BATCHES_SHAPES) != OBJECT(self->state, STATE_TOLD_SHAPES)) return 0;
    if (has_modes(torch.function_depth)) return 0;
    PyObject *groups = PyObject_GetAttr(optimizer, NAME(param_groups));
    int fine = groups != NULL && PyList_CheckExact(groups) && holds_the_same(self, entry, groups)
        && gradients_are_fine(self, OBJECT(entry, ENTRY_READING), optimizer, groups);
    Py_XDECREF(groups);
    if (!fine) return 0;
    double milliseconds = (started - REAL(self->state, STATE_BEGAN)) * 1000;
    return add_to_log(self, WHOLE(self->state, STATE_STEP), WHOLE(entry, ENTRY_INDEX), loss, milliseconds);
}

/* Cruise._is_fine, for a step with one loss: 1 if it was checked and recorded. */
static int check_step(NativeCruise *self, PyObject *optimizer, PyObject *args, PyObject *keywords) {
    if (!FLAG(self->cruise, CRUISE_ON) || !FLAG(self->cruise, CRUISE_IS_PLAIN)) return 0;
    if (!PyTuple_Check(args) || PyTuple_GET_SIZE(args) != 1) return 0;
    if (keywords != Py_None && PyObject_Size(keywords) != 0) return 0;
    PyObject *losses = OBJECT(self->state, STATE_LOSSES);
    if (losses == NULL || !PyList_CheckExact(losses) || PyList_GET_SIZE(losses) != 1) return 0;
    PyObject *number = PyList_GET_ITEM(losses, 0);
    if (!PyFloat_CheckExact(number) || !isfinite(PyFloat_AS_DOUBLE(number))) return 0;
    int timed = WHOLE(self->cruise, CRUISE_STEPS) % TIMED == 0;
    double started = now(), began = timed ? spent() : 0.0;
    PyObject *entry = entry_of(self, optimizer);
    if (entry == NULL) return 0;
    /* To sum large gradients runs Python, in which the garbage collector may run code that drops these three. */
    Py_INCREF(entry);
    Py_INCREF(losses);
    Py_INCREF(number);
    int handled = is_recorded(self, entry, optimizer, PyFloat_AS_DOUBLE(number), started);
    if (handled) {
        REAL(self->state, STATE_BEGAN) = started;
        Py_INCREF(number);
        Py_XSETREF(OBJECT(self->cruise, CRUISE_LOSS), number);
        PyList_SetSlice(losses, 0, PyList_GET_SIZE(losses), NULL);
        Py_INCREF(entry);
        Py_XSETREF(OBJECT(self->cruise, CRUISE_CHECKED), entry);
        FLAG(self->state, STATE_IN_UPDATE) = 1;
        if (timed) REAL(self->cruise, CRUISE_SECONDS) += TIMED * (spent() - began);
    }
    Py_DECREF(number);
    Py_DECREF(losses);
    Py_DECREF(entry);
    return handled;
}

/* Tell whether Cruise._follow_batches has only to release batches: one since the last step, or none. */
static int batches_are_ordinary(NativeCruise *self) {
    long long serial = WHOLE(self->batches, BATCHES_SERIAL), known = WHOLE(self->cruise, CRUISE_SERIAL);
    return serial == 0 || serial == known || (serial == known + 1 && serial + 1 != WHOLE(self->cruise, CRUISE_LOOKOUT));
}

/* The oldest batch that was the last one of an optimizer's step; 0 if there is none. */
static long long oldest_in_use(PyObject *entries) {
    PyObject *key, *entry;
    Py_ssize_t position = 0;
    long long oldest = 0;
    while (PyDict_Next(entries, &position, &key, &entry)) {
        PyObject *watched = IS(entry, EntryType) ? OBJECT(entry, ENTRY_WATCHED) : NULL;
        PyObject *reference = watched == NULL ? NULL : OBJECT(entry, ENTRY_REFERENCE);
        if (!IS(watched, WatchedType) || reference == NULL || !PyWeakref_Check(reference)) continue;
        long long last = WHOLE(watched, WATCHED_BATCHES_AT_LAST_STEP);
        if (referent(reference) != Py_None && last && (!oldest || last < oldest)) oldest = last;
    }
    return oldest;
}

/* Cruise._follow_batches, after `batches_are_ordinary`. */
static void release_batches(NativeCruise *self, PyObject *watched) {
    PyObject *recent = OBJECT(self->batches, BATCHES_RECENT);
    long long serial = WHOLE(self->batches, BATCHES_SERIAL);
    if (!serial) return;
    WHOLE(watched, WATCHED_BATCHES_AT_LAST_STEP) = serial;
    WHOLE(self->cruise, CRUISE_SERIAL) = serial;
    REAL(self->batches, BATCHES_LOOK_FROM) = (double)(WHOLE(self->batches, BATCHES_DRAWN) + self->batches_without_step);
    if (FLAG(self->cruise, CRUISE_IS_ALONE)) {
        method(recent, NAME(clear), NULL);
        return;
    }
    long long oldest = oldest_in_use(OBJECT(self->cruise, CRUISE_ENTRIES));
    PyObject *first = oldest && PyObject_Size(recent) > 0 ? PySequence_GetItem(recent, 0) : NULL;
    PyObject *number = IS(first, BatchType) && WHOLE(first, BATCH_SERIAL) <= oldest ? PyLong_FromLongLong(oldest) : NULL;
    if (number != NULL) method(self->batches, NAME(forget_before), number);
    Py_XDECREF(first);
    Py_XDECREF(number);
}

/* Tell whether nothing is due after the step but to count it. */
static int ends_ordinarily(NativeCruise *self) {
    PyObject *entry = OBJECT(self->cruise, CRUISE_CHECKED), *number = OBJECT(self->cruise, CRUISE_LOSS);
    if (!FLAG(self->cruise, CRUISE_ON) || !IS(entry, EntryType) || number == NULL || !PyFloat_CheckExact(number)) return 0;
    PyObject *losses = OBJECT(entry, ENTRY_LOSSES), *dropped = OBJECT(self->state, STATE_DROPPED);
    PyObject *watched = OBJECT(entry, ENTRY_WATCHED);
    if (losses == NULL || !PyList_CheckExact(losses) || !IS(watched, WatchedType)) return 0;
    if (WHOLE(watched, WATCHED_STEPS) + 1 >= WHOLE(watched, WATCHED_NEXT_SAMPLE)) return 0;
    if (!IS(dropped, DroppedType) || PyFloat_AS_DOUBLE(number) > REAL(entry, ENTRY_HIGHEST)) return 0;
    if (PyList_GET_SIZE(losses) + 1 >= WHOLE(entry, ENTRY_MOST) || WHOLE(dropped, DROPPED_IN_A_ROW) != 0) return 0;
    if (OBJECT(self->batches, BATCHES_RECENT) == NULL || !batches_are_ordinary(self)) return 0;
    return (double)(WHOLE(self->state, STATE_STEP) + 1) < REAL(self->cruise, CRUISE_UNTIL);
}

/* QuietSteps.after_step: copy the buffers and keep the random state; 0 if Python has to. */
static int is_kept_for_replay(NativeCruise *self) {
    PyObject *random = OBJECT(self->cruise, CRUISE_RANDOM), *buffers = OBJECT(self->cruise, CRUISE_BUFFERS);
    PyObject *copies = OBJECT(self->cruise, CRUISE_COPY_OF);
    if (random == NULL || buffers == NULL || copies == NULL || (random == Py_None && buffers == Py_None)) return 0;
    if (buffers != Py_None && !copy_memory(copies, buffers)) return 0;
    /* To take the random state runs Python, in which the garbage collector may run code that changes all this. */
    return random == Py_None || (random_is_kept(self, random) && ends_ordinarily(self));
}

/* Cruise._close, if nothing is due afterwards: 1 if the step was closed. */
static int close_step(NativeCruise *self) {
    int timed = WHOLE(self->cruise, CRUISE_STEPS) % TIMED == 0;
    double started = timed ? spent() : 0.0;
    if (!ends_ordinarily(self)) return 0;
    if (FLAG(self->cruise, CRUISE_COPIES) && !is_kept_for_replay(self)) return 0;
    PyObject *entry = OBJECT(self->cruise, CRUISE_CHECKED), *watched = OBJECT(entry, ENTRY_WATCHED);
    if (PyList_Append(OBJECT(entry, ENTRY_LOSSES), OBJECT(self->cruise, CRUISE_LOSS)) < 0) return 0;

    FLAG(self->state, STATE_IN_UPDATE) = 0;
    WHOLE(self->state, STATE_STEP)++;
    WHOLE(watched, WATCHED_STEPS)++;
    WHOLE(self->cruise, CRUISE_STEPS)++;
    release_batches(self, watched);
    if (timed) REAL(self->cruise, CRUISE_SECONDS) += TIMED * (spent() - started);
    Py_INCREF(Py_None);
    Py_XSETREF(OBJECT(self->cruise, CRUISE_CHECKED), Py_None); /* last: the entry may go with it */
    return 1;
}

static PyObject *before_step(NativeCruise *self, PyObject *const *args, Py_ssize_t count) {
    let_gradients_go(self);
    if (count == 3 && check_step(self, args[0], args[1], args[2])) Py_RETURN_NONE;
    PyErr_Clear();
    let_gradients_go(self);
    return PyObject_Vectorcall(self->before, args, (size_t)count, NULL);
}

static PyObject *after_step(NativeCruise *self, PyObject *const *args, Py_ssize_t count) {
    let_gradients_go(self);
    if (close_step(self)) Py_RETURN_NONE;
    PyErr_Clear();
    return PyObject_Vectorcall(self->after, args, (size_t)count, NULL);
}

enum { HELD = 8 };

static void held_by(NativeCruise *self, PyObject ***held) {
    PyObject **all[HELD] = {&self->cruise, &self->state, &self->batches, &self->modes,
                            &self->log,    &self->guests,   &self->before,  &self->after};
    memcpy(held, all, sizeof all);
}

static int cruise_init(NativeCruise *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"cruise", "state", "batches", "modes", "log", "guests", "before", "after", "rate_change",
                            "most_bytes", "batches_without_step", "lines_at_once", "slots", "still", "seldom", "inputs_compared",
                            NULL};
    PyObject *given[HELD], **held[HELD];
    held_by(self, held);
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$O!O!O!O!OO!OOdLLLLLLL", names, &CruiseType, &given[0], &StateType,
                                     &given[1], &BatchesType, &given[2], &ModesType, &given[3], &given[4],
                                     &GuestsType, &given[5], &given[6], &given[7], &self->rate_change, &self->most_bytes,
                                     &self->batches_without_step, &self->lines_at_once, &self->slots, &self->still,
                                     &self->seldom, &self->inputs_compared))
        return -1;
    for (int i = 0; i < HELD; i++) {
        Py_INCREF(given[i]);
        Py_XSETREF(*held[i], given[i]);
    }
    Py_XSETREF(self->gradients, PyList_New(0));
    return self->gradients == NULL ? -1 : 0;
}

static int cruise_traverse(NativeCruise *self, visitproc visit, void *arg) {
    PyObject **held[HELD];
    held_by(self, held);
    for (int i = 0; i < HELD; i++) Py_VISIT(*held[i]);
    for (int i = 0; i < MOST_FORWARDS; i++) {
        Py_VISIT(self->forwards[i].tally);
        Py_VISIT(self->forwards[i].code);
    }
    Py_VISIT(self->gradients);
    Py_VISIT(self->shapes_of);
    return 0;
}

static int cruise_clear(NativeCruise *self) {
    PyObject **held[HELD];
    held_by(self, held);
    for (int i = 0; i < HELD; i++) Py_CLEAR(*held[i]);
    for (int i = 0; i < MOST_FORWARDS; i++) {
        Py_CLEAR(self->forwards[i].tally);
        Py_CLEAR(self->forwards[i].code);
    }
    Py_CLEAR(self->gradients);
    Py_CLEAR(self->shapes_of);
    return 0;
}

static void cruise_dealloc(NativeCruise *self) {
    PyObject_GC_UnTrack(self);
    cruise_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef cruise_methods[] = {
    {"before_step", (PyCFunction)(void (*)(void))before_step, METH_FASTCALL, "Check the step that is about to be made."},
    {"after_step", (PyCFunction)(void (*)(void))after_step, METH_FASTCALL, "Close the step that was made."},
    {NULL},
};

PyTypeObject NativeCruiseType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torchwhy.observe.native._fast.NativeCruise",
    .tp_doc = "Ordinary steps at cruising speed; hands every other one to Python.",
    .tp_basicsize = sizeof(NativeCruise),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)cruise_init,
    .tp_traverse = (traverseproc)cruise_traverse,
    .tp_clear = (inquiry)cruise_clear,
    .tp_dealloc = (destructor)cruise_dealloc,
    .tp_methods = cruise_methods,
};
