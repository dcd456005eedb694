/* Between two steps at cruising speed: batches, forwards and numbers that the program reads, as in batches.py, modes.py
   and reads.py. */

#include "fast.h"
#include <math.h>

/* Repeat the shapes of a list of torch.Size in numbers, once for each list: it stays the same object as long as batches
   have these shapes. */
static int shapes_are_known(NativeCruise *self) {
    PyObject *shapes = OBJECT(self->batches, BATCHES_SHAPES);
    if (shapes == self->shapes_of) return shapes != NULL;
    if (shapes == NULL || !PyList_CheckExact(shapes) || PyList_GET_SIZE(shapes) > MOST_LEAVES) return 0;
    Py_CLEAR(self->shapes_of);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(shapes); i++) {
        PyObject *shape = PyList_GET_ITEM(shapes, i);
        if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > MOST_DIMENSIONS) return 0;
        self->shapes[i].dimensions = (int)PyTuple_GET_SIZE(shape);
        for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape); d++)
            self->shapes[i].size[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, d));
    }
    if (PyErr_Occurred()) return 0;
    Py_INCREF(shapes);
    self->shapes_of = shapes;
    return 1;
}

static int has_the_same_shapes(NativeCruise *self, PyObject *data) {
    if (!PyList_CheckExact(data) || !shapes_are_known(self)) return 0;
    if (PyList_GET_SIZE(data) != PyList_GET_SIZE(self->shapes_of)) return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(data); i++)
        if (!has_shape(PyList_GET_ITEM(data, i), &self->shapes[i])) return 0;
    return 1;
}

/* RandomState.take, while it would return the state it has. */
static int random_rests(NativeCruise *self, PyObject *random) {
    if (!IS(random, RandomType) || OBJECT(random, RANDOM_STATE) == NULL || OBJECT(random, RANDOM_STATE) == Py_None) return 0;
    long long count = WHOLE(random, RANDOM_ASKED) + 1;
    if (WHOLE(random, RANDOM_STILL) < self->still || count % self->seldom == 0) return 0;
    WHOLE(random, RANDOM_ASKED) = count;
    return 1;
}

/* RandomState.take: 1 if it has the current state. Runs Python if something was drawn. */
int random_is_kept(NativeCruise *self, PyObject *random) {
    if (random_rests(self, random)) return 1;
    if (!IS(random, RandomType) || is_watched()) return 0;
    return method(random, NAME(take), NULL);
}

/* Copy a reference into a field of a batch. */
static int share(PyObject *batch, int field, PyObject *value) {
    if (value == NULL) return 0;
    Py_INCREF(value);
    Py_XSETREF(OBJECT(batch, field), value);
    return 1;
}

/* An alias of a plain tensor, as aliases_of makes it; NULL for a tensor that Python has to look at. */
static PyObject *alias_of(PyObject *tensor) {
    PyObject *requires = PyObject_GetAttr(tensor, NAME(requires_grad)), *own = PyObject_GenericGetDict(tensor, NULL);
    int is_bare = requires == Py_False && own != NULL && PyDict_Check(own) && PyDict_GET_SIZE(own) == 0;
    Py_XDECREF(requires);
    Py_XDECREF(own);
    return is_bare ? PyObject_CallMethodNoArgs(tensor, NAME(detach)) : NULL;
}

/* Fill a batch's aliases and weak references from a list of plain tensors. */
static int share_tensors(PyObject *batch, PyObject *data) {
    if (is_watched()) return 0;
    Py_ssize_t count = PyList_GET_SIZE(data);
    PyObject *aliases = PyList_New(0), *originals = PyList_New(0);
    int complete = aliases != NULL && originals != NULL;
    for (Py_ssize_t i = 0; i < count && complete; i++) {
        PyObject *tensor = PyList_GET_ITEM(data, i), *alias = alias_of(tensor);
        PyObject *reference = alias == NULL ? NULL : PyWeakref_NewRef(tensor, NULL);
        complete = reference != NULL && PyList_Append(aliases, alias) == 0 && PyList_Append(originals, reference) == 0;
        Py_XDECREF(alias);
        Py_XDECREF(reference);
    }
    complete = complete && share(batch, BATCH_DATA, aliases) && share(batch, BATCH_ORIGINALS, originals);
    Py_XDECREF(aliases);
    Py_XDECREF(originals);
    return complete;
}

static PyObject *new_batch(NativeCruise *self, PyObject *data) {
    PyTypeObject *kind = (PyTypeObject *)torch.batch;
    PyObject *batch = PyType_IsSubtype(kind, &BatchType) ? kind->tp_alloc(kind, 0) : NULL;
    if (batch == NULL) return NULL;
    int complete = share_tensors(batch, data)
        && share(batch, BATCH_ITERATOR, OBJECT(self->batches, BATCHES_FOLLOWING))
        && share(batch, BATCH_SITES, OBJECT(self->batches, BATCHES_SITES))
        && share(batch, BATCH_VERSIONS, OBJECT(self->batches, BATCHES_VERSIONS))
        && share(batch, BATCH_RANDOM_STATE, OBJECT(OBJECT(self->batches, BATCHES_RANDOM), RANDOM_STATE))
        && share(batch, BATCH_DRAWN_INDICES, Py_None);
    if (!complete) {
        Py_DECREF(batch);
        return NULL;
    }
    WHOLE(batch, BATCH_SERIAL) = WHOLE(self->batches, BATCHES_SERIAL) + 1;
    WHOLE(batch, BATCH_SIZE) = WHOLE(self->batches, BATCHES_SIZE);
    FLAG(batch, BATCH_TRAINS) = 1;
    return batch;
}

/* Tell whether no batch of an evaluation is kept, and there is room. */
static int has_room(NativeCruise *self, PyObject *recent) {
    Py_ssize_t kept = PyObject_Size(recent);
    if (kept <= 0) return kept == 0;
    PyObject *newest = PySequence_GetItem(recent, kept - 1);
    int trains = IS(newest, BatchType) && FLAG(newest, BATCH_TRAINS);
    Py_XDECREF(newest);
    return trains && WHOLE(self->batches, BATCHES_SIZE) * (kept + 1) <= self->most_bytes;
}

static PyObject *variable(PyFrameObject *frame, PyObject *name) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyFrame_GetVar(frame, name);
#else
    PyObject *locals = PyFrame_GetLocals(frame);
    PyObject *value = locals == NULL ? NULL : PyObject_GetItem(locals, name);
    Py_XDECREF(locals);
    return value;
#endif
}

/* Tell whether the log of loaders would like to see more batches. */
static int log_wants(PyObject *batches) {
    PyObject *log = PyObject_GetAttr(batches, NAME(log));
    PyObject *wants = log == NULL || log == Py_None ? NULL : PyObject_GetAttr(log, NAME(wants));
    int answer = log != Py_None && wants != Py_False;
    if (PyErr_Occurred()) PyErr_Clear();
    Py_XDECREF(log);
    Py_XDECREF(wants);
    return answer;
}

/* Keep the random state with a batch. Of a loop that draws, Python keeps the batches as long as their values are logged. */
static int random_is_kept_with_batch(NativeCruise *self) {
    PyObject *random = OBJECT(self->batches, BATCHES_RANDOM);
    return random_rests(self, random) || (!log_wants(self->batches) && random_is_kept(self, random));
}

/* BatchKeeper._keep, for one more training batch of the current loader: 1 if it was kept. */
int cruise_keep(PyObject *object, PyObject *iterator, PyFrameObject *frame) {
    NativeCruise *self = (NativeCruise *)object;
    PyObject *batches = self->batches, *following = OBJECT(batches, BATCHES_FOLLOWING);
    PyObject *recent = OBJECT(batches, BATCHES_RECENT), *seen = OBJECT(batches, BATCHES_SEEN);
    if (!FLAG(self->cruise, CRUISE_ON) || following == NULL || !PyWeakref_Check(following)) return 0;
    if (referent(following) != iterator || recent == NULL || seen == NULL) return 0;
    if ((double)(WHOLE(batches, BATCHES_DRAWN) + 1) >= REAL(batches, BATCHES_LOOK_FROM)) return 0;
    int timed = WHOLE(self->cruise, CRUISE_STEPS) % TIMED == 0;
    double started = timed ? spent() : 0.0;
    if (!grad_enabled() || !has_room(self, recent)) return 0;
    PyObject *data = variable(frame, NAME(data));
    int ordinary = data != NULL && has_the_same_shapes(self, data) && random_is_kept_with_batch(self);
    /* To take the random state may have run code of the collector, that changed these. */
    ordinary = ordinary && FLAG(self->cruise, CRUISE_ON) && OBJECT(batches, BATCHES_RECENT) == recent && OBJECT(batches, BATCHES_SEEN) == seen;
    PyObject *batch = ordinary ? new_batch(self, data) : NULL;
    Py_XDECREF(data);
    if (batch == NULL || !method(recent, NAME(append), batch)) {
        Py_XDECREF(batch);
        return 0;
    }
    if (seen != Py_None && PyObject_Size(seen) > 0) {
        PyObject *index = PyObject_CallMethodNoArgs(seen, NAME(popleft));
        share(batch, BATCH_DRAWN_INDICES, index);
        Py_XDECREF(index);
    }
    Py_DECREF(batch);
    WHOLE(batches, BATCHES_DRAWN)++;
    WHOLE(batches, BATCHES_SERIAL)++;
    if (timed) REAL(self->guests, GUESTS_LIGHT_SECONDS) += TIMED * (spent() - started);
    return 1;
}

/* Look a place up among the tallies, and remember it. */
static KnownForward *found_forward(NativeCruise *self, const KnownForward *wanted) {
    PyObject *tallies = OBJECT(self->modes, MODES_TALLIES);
    PyObject *key = Py_BuildValue("(NOOLi)", PyLong_FromVoidPtr(wanted->model), wanted->training ? Py_True : Py_False,
                                  wanted->grad ? Py_True : Py_False, (long long)(intptr_t)wanted->code, wanted->place);
    PyObject *tally = tallies != NULL && key != NULL && PyDict_Check(tallies) ? PyDict_GetItemWithError(tallies, key) : NULL;
    Py_XDECREF(key);
    if (!IS(tally, TallyType)) return NULL;
    KnownForward *found = &self->forwards[self->next_forward];
    self->next_forward = (self->next_forward + 1) % MOST_FORWARDS;
    Py_INCREF(tally);
    Py_XSETREF(found->tally, tally);
    Py_INCREF(wanted->code);
    Py_XSETREF(found->code, wanted->code);
    found->model = wanted->model;
    found->place = wanted->place;
    found->training = wanted->training;
    found->grad = wanted->grad;
    return found;
}

static KnownForward *known_forward(NativeCruise *self, PyObject *model, PyFrameObject *user, int training) {
    PyCodeObject *code = PyFrame_GetCode(user);
    KnownForward wanted = {NULL, (PyObject *)code, model, PyFrame_GetLasti(user), training, grad_enabled()};
    KnownForward *known = NULL;
    for (int i = 0; i < MOST_FORWARDS && known == NULL; i++) {
        KnownForward *other = &self->forwards[i];
        if (other->model == wanted.model && other->code == wanted.code && other->place == wanted.place
            && other->training == wanted.training && other->grad == wanted.grad && !FLAG(other->tally, TALLY_ENDED))
            known = other;
    }
    if (known == NULL) known = found_forward(self, &wanted);
    Py_DECREF(code);
    return known;
}

/* ModeCounter._count: 1 if it was counted. */
static int count(NativeCruise *self, const KnownForward *known) {
    PyObject *tally = known->tally, *recent = OBJECT(self->modes, MODES_RECENT);
    if (!known->grad && WHOLE(tally, TALLY_COUNT) < self->inputs_compared) return 0;
    if (known->grad) {
        long long node_number;
        PyObject *forward = asked(torch.next_node_number, &node_number) ? Py_BuildValue("(OL)", tally, node_number) : NULL;
        int waits = forward != NULL && method(recent, NAME(append), forward);
        Py_XDECREF(forward);
        if (!waits) return 0;
    }
    WHOLE(tally, TALLY_COUNT)++;
    if (WHOLE(tally, TALLY_LAST_STEP) != WHOLE(self->state, STATE_STEP)) {
        WHOLE(tally, TALLY_LAST_STEP) = WHOLE(self->state, STATE_STEP);
        WHOLE(tally, TALLY_STEPS)++;
    }
    return 1;
}

/* ModeCounter.noted, for a model called from a known place: 1 if it was counted. A place is known by its tally alone, so
   this holds for every step, also for one that does not cruise. */
int cruise_count_forward(PyObject *object, PyObject *model, PyFrameObject *caller) {
    NativeCruise *self = (NativeCruise *)object;
    let_gradients_go(self);
    if (OBJECT(self->modes, MODES_RECENT) == NULL) return 0;
    PyCodeObject *code = PyFrame_GetCode(caller);
    int is_module_call = (PyObject *)code == torch.module_call;
    Py_DECREF(code);
    PyFrameObject *wrapper = is_module_call ? PyFrame_GetBack(caller) : NULL;
    PyFrameObject *user = wrapper == NULL ? NULL : PyFrame_GetBack(wrapper);
    PyObject *training = user == NULL ? NULL : PyObject_GetAttr(model, NAME(training));
    KnownForward *known = NULL;
    if (training == Py_True || training == Py_False) known = known_forward(self, model, user, training == Py_True);
    Py_XDECREF(wrapper);
    Py_XDECREF(user);
    Py_XDECREF(training);
    return known != NULL && count(self, known);
}

/* The program looks at a number, as in `loss.item()`: nothing to note when it is finite, gradients are on, and nothing
   that it looked at since the last backward pass waits to be judged. */
int cruise_ignores_read(PyObject *object, PyObject *tensor) {
    NativeCruise *self = (NativeCruise *)object;
    double value;
    if (!FLAG(self->cruise, CRUISE_ON) || FLAG(self->state, STATE_BAD_EVALUATIONS)) return 0;
    if (OBJECT(self->state, STATE_LAST_READ) != Py_None) return 0;
    return one_number(tensor, &value) && isfinite(value) && grad_enabled() && !has_modes(torch.function_depth);
}
