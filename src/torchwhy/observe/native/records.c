/* Base classes with attributes in plain memory, by name. */

#include "fast.h"
#include <structmember.h>

static int record_traverse(Record *self, visitproc visit, void *arg) {
    for (size_t i = 0; i < sizeof self->object / sizeof *self->object; i++) Py_VISIT(self->object[i]);
    return 0;
}

static int record_clear(Record *self) {
    for (size_t i = 0; i < sizeof self->object / sizeof *self->object; i++) Py_CLEAR(self->object[i]);
    return 0;
}

static void record_dealloc(Record *self) {
    PyObject_GC_UnTrack(self);
    record_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* The arguments are for the subclass's __init__. */
static PyObject *record_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    return type->tp_alloc(type, 0);
}

#define FIELD_OBJECT(name, field) {name, T_OBJECT_EX, offsetof(Record, object) + (field) * sizeof(PyObject *), 0, NULL}
#define FIELD_WHOLE(name, field) {name, T_LONGLONG, offsetof(Record, whole) + (field) * sizeof(long long), 0, NULL}
#define FIELD_REAL(name, field) {name, T_DOUBLE, offsetof(Record, real) + (field) * sizeof(double), 0, NULL}
#define FIELD_FLAG(name, field) {name, T_BOOL, offsetof(Record, flag) + (field), 0, NULL}

#define DEFINE_RECORD(type, name, ...)                                                       \
    static PyMemberDef type##_members[] = {__VA_ARGS__, {NULL}};                             \
    PyTypeObject type = {                                                                    \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torchwhy.observe.native._fast." name,      \
        .tp_doc = "Attributes that a step touches, as plain memory.",                        \
        .tp_basicsize = sizeof(Record),                                                      \
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,           \
        .tp_new = record_new,                                                                \
        .tp_traverse = (traverseproc)record_traverse,                                        \
        .tp_clear = (inquiry)record_clear,                                                   \
        .tp_dealloc = (destructor)record_dealloc,                                            \
        .tp_members = type##_members}

DEFINE_RECORD(StateType, "StateRecord",
              FIELD_OBJECT("losses", STATE_LOSSES), FIELD_OBJECT("last_read", STATE_LAST_READ),
              FIELD_OBJECT("told_shapes", STATE_TOLD_SHAPES), FIELD_OBJECT("dropped", STATE_DROPPED),
              FIELD_WHOLE("step", STATE_STEP), FIELD_WHOLE("backwards", STATE_BACKWARDS),
              FIELD_WHOLE("next_node_before", STATE_NEXT_NODE_BEFORE), FIELD_WHOLE("next_node", STATE_NEXT_NODE),
              FIELD_REAL("began", STATE_BEGAN), FIELD_FLAG("in_update", STATE_IN_UPDATE),
              FIELD_FLAG("bad_evaluations", STATE_BAD_EVALUATIONS));

DEFINE_RECORD(DroppedType, "DroppedRecord", FIELD_WHOLE("in_a_row", DROPPED_IN_A_ROW));

DEFINE_RECORD(CruiseType, "CruiseRecord",
              FIELD_OBJECT("_entries", CRUISE_ENTRIES), FIELD_OBJECT("_checked", CRUISE_CHECKED),
              FIELD_OBJECT("_loss", CRUISE_LOSS), FIELD_OBJECT("_random", CRUISE_RANDOM),
              FIELD_OBJECT("_copy_of", CRUISE_COPY_OF), FIELD_OBJECT("_buffers", CRUISE_BUFFERS),
              FIELD_WHOLE("steps", CRUISE_STEPS), FIELD_WHOLE("_serial", CRUISE_SERIAL),
              FIELD_WHOLE("_lookout", CRUISE_LOOKOUT), FIELD_REAL("seconds", CRUISE_SECONDS),
              FIELD_REAL("_until", CRUISE_UNTIL), FIELD_FLAG("on", CRUISE_ON),
              FIELD_FLAG("_is_alone", CRUISE_IS_ALONE), FIELD_FLAG("_copies", CRUISE_COPIES),
              FIELD_FLAG("is_plain", CRUISE_IS_PLAIN));

DEFINE_RECORD(EntryType, "EntryRecord",
              FIELD_OBJECT("reference", ENTRY_REFERENCE), FIELD_OBJECT("watched", ENTRY_WATCHED),
              FIELD_OBJECT("members", ENTRY_MEMBERS), FIELD_OBJECT("reading", ENTRY_READING),
              FIELD_OBJECT("rates", ENTRY_RATES),
              FIELD_OBJECT("losses", ENTRY_LOSSES), FIELD_WHOLE("index", ENTRY_INDEX),
              FIELD_WHOLE("most", ENTRY_MOST), FIELD_REAL("highest", ENTRY_HIGHEST));

DEFINE_RECORD(WatchedType, "WatchedRecord",
              FIELD_WHOLE("steps", WATCHED_STEPS), FIELD_WHOLE("batches_at_last_step", WATCHED_BATCHES_AT_LAST_STEP),
              FIELD_WHOLE("next_sample", WATCHED_NEXT_SAMPLE));

DEFINE_RECORD(ReadingType, "ReadingRecord",
              FIELD_OBJECT("_are_small", READING_ARE_SMALL), FIELD_FLAG("is_possible", READING_IS_POSSIBLE));

DEFINE_RECORD(BatchesType, "BatchesRecord",
              FIELD_OBJECT("recent", BATCHES_RECENT), FIELD_OBJECT("shapes", BATCHES_SHAPES),
              FIELD_OBJECT("_sites", BATCHES_SITES), FIELD_OBJECT("_versions", BATCHES_VERSIONS),
              FIELD_OBJECT("_random", BATCHES_RANDOM), FIELD_OBJECT("_following", BATCHES_FOLLOWING),
              FIELD_OBJECT("_seen", BATCHES_SEEN), FIELD_WHOLE("drawn", BATCHES_DRAWN),
              FIELD_WHOLE("serial", BATCHES_SERIAL), FIELD_WHOLE("_size", BATCHES_SIZE),
              FIELD_REAL("look_from", BATCHES_LOOK_FROM));

DEFINE_RECORD(BatchType, "BatchRecord",
              FIELD_OBJECT("iterator", BATCH_ITERATOR), FIELD_OBJECT("data", BATCH_DATA),
              FIELD_OBJECT("drawn_indices", BATCH_DRAWN_INDICES), FIELD_OBJECT("random_state", BATCH_RANDOM_STATE),
              FIELD_OBJECT("sites", BATCH_SITES), FIELD_OBJECT("versions", BATCH_VERSIONS),
              FIELD_OBJECT("originals", BATCH_ORIGINALS),
              FIELD_WHOLE("serial", BATCH_SERIAL), FIELD_WHOLE("size", BATCH_SIZE), FIELD_FLAG("trains", BATCH_TRAINS));

DEFINE_RECORD(RandomType, "RandomRecord",
              FIELD_OBJECT("_state", RANDOM_STATE), FIELD_WHOLE("_still", RANDOM_STILL),
              FIELD_WHOLE("_asked", RANDOM_ASKED));

DEFINE_RECORD(GuestsType, "GuestsRecord",
              FIELD_REAL("seconds", GUESTS_SECONDS), FIELD_REAL("light_seconds", GUESTS_LIGHT_SECONDS));

DEFINE_RECORD(ModesType, "ModesRecord", FIELD_OBJECT("_recent", MODES_RECENT), FIELD_OBJECT("_tallies", MODES_TALLIES));

DEFINE_RECORD(TallyType, "TallyRecord",
              FIELD_WHOLE("count", TALLY_COUNT), FIELD_WHOLE("steps", TALLY_STEPS),
              FIELD_WHOLE("last_step", TALLY_LAST_STEP), FIELD_WHOLE("backwards", TALLY_BACKWARDS),
              FIELD_FLAG("feeds", TALLY_FEEDS), FIELD_FLAG("ended", TALLY_ENDED));
