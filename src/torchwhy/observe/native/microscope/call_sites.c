/* The walk up the stack of call_sites.py: the user's frames, and the part of torch that it passes through. */

#include "../fast.h"

static PyObject *site_type, *part_of, *backward_entry; /* given once by `begin_walks` */
static Py_ssize_t most_sites, most_frames;             /* likewise */
static PyObject *parts;                                /* the part of each file */
static PyObject *user, *library, *plain_torch, *data, *own;
static PyObject *dispatch, *function; /* methods by which modes and tensor subclasses hand an operation on */

static void forget_sites(void);

PyObject *begin_walks(PyObject *module, PyObject *args) {
    PyObject *site, *part, *entry;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOnn", &site, &part, &entry, &most_sites, &most_frames)) return NULL;
    if (user == NULL) {
        user = PyUnicode_InternFromString("user");
        library = PyUnicode_InternFromString("library");
        plain_torch = PyUnicode_InternFromString("torch");
        data = PyUnicode_InternFromString("data");
        own = PyUnicode_InternFromString("own");
        dispatch = PyUnicode_InternFromString("__torch_dispatch__");
        function = PyUnicode_InternFromString("__torch_function__");
    }
    PyObject *empty = PyDict_New();
    if (empty == NULL || user == NULL || library == NULL || plain_torch == NULL || data == NULL || own == NULL) return NULL;
    if (dispatch == NULL || function == NULL) return NULL;
    forget_sites();
    Py_INCREF(site);
    Py_INCREF(part);
    Py_INCREF(entry);
    Py_XSETREF(site_type, site);
    Py_XSETREF(part_of, part);
    Py_XSETREF(backward_entry, entry);
    Py_XSETREF(parts, empty);
    Py_RETURN_NONE;
}

static int is(PyObject *part, PyObject *name) { return part == name || PyUnicode_Compare(part, name) == 0; }

/* Whose code this is, a borrowed reference. */
static PyObject *part_at(PyCodeObject *code) {
    PyObject *known = PyDict_GetItemWithError(parts, code->co_filename);
    if (known != NULL || PyErr_Occurred()) return known;
    PyObject *found = PyObject_CallOneArg(part_of, code->co_filename);
    if (found == NULL) return NULL;
    int kept = PyUnicode_Check(found) ? PyDict_SetItem(parts, code->co_filename, found) : -1;
    Py_DECREF(found);
    return kept < 0 ? NULL : found;
}

PyObject *named_tuple(PyObject *type, PyObject *fields) {
    PyObject *given = NULL, *made = NULL;
    if (fields != NULL && PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        given = PyTuple_Pack(1, fields);
        made = given == NULL ? NULL : PyTuple_Type.tp_new((PyTypeObject *)type, given, NULL);
    } else if (fields != NULL) {
        PyErr_SetString(PyExc_TypeError, "no kind of tuple");
    }
    Py_XDECREF(given);
    Py_XDECREF(fields);
    return made;
}

/* The sites of recent frames: operation after operation passes through the same ones. Each keeps its code alive, so that
   no other code gets its address. */
enum { RECENT_SITES = 256 };
static struct {
    PyCodeObject *code;
    int instruction;
    PyObject *site;
} recent[RECENT_SITES];

static void forget_sites(void) {
    for (int i = 0; i < RECENT_SITES; i++) {
        recent[i].code = NULL;
        Py_CLEAR(recent[i].site);
    }
}

/* A borrowed reference. */
static PyObject *site_of(PyCodeObject *code, int instruction) {
    int place = (int)((((uintptr_t)code >> 4) + (uintptr_t)instruction * 31) % RECENT_SITES);
    if (recent[place].site != NULL && recent[place].code == code && recent[place].instruction == instruction) return recent[place].site;
    PyObject *site = named_tuple(site_type, Py_BuildValue("(Oi)", (PyObject *)code, instruction));
    if (site == NULL) return NULL;
    recent[place].code = code;
    recent[place].instruction = instruction;
    Py_XSETREF(recent[place].site, site);
    return site;
}

static int add_site(PyObject *sites, PyCodeObject *code, PyFrameObject *frame) {
    PyObject *site = site_of(code, PyFrame_GetLasti(frame));
    return site == NULL ? -1 : PyList_Append(sites, site);
}

typedef struct {
    PyObject *inner, *outer, *far; /* sites: before the entry of backward, behind it, and of libraries */
    PyObject *within;              /* sites of code that the user's calls: the innermost frame, then one of a library */
    PyObject *part;
    PyObject *issuer; /* the part of the innermost frame */
    int is_behind;
} Way;

/* Return 1 to continue, 0 to stop, -1 for an exception. */
static int pass(Way *way, PyFrameObject *frame, PyCodeObject *code) {
    if ((PyObject *)code == backward_entry) way->is_behind = 1;
    PyObject *here = part_at(code);
    if (here == NULL) return -1;
    if (is(here, own) || is(code->co_name, dispatch) || is(code->co_name, function)) return 1;
    int is_issuing = way->issuer == NULL;
    if (is_issuing) way->issuer = here;
    if (!is(here, user) && !way->is_behind && !PyList_GET_SIZE(way->inner)
        && (is_issuing || (is(here, library) && !PyList_GET_SIZE(way->far))) && add_site(way->within, code, frame) < 0) return -1;
    if (is(here, user)) {
        PyObject *sites = way->is_behind ? way->outer : way->inner;
        if (add_site(sites, code, frame) < 0) return -1;
        return PyList_GET_SIZE(sites) < most_sites;
    }
    if (is(here, library) && !PyList_GET_SIZE(way->far) && !way->is_behind) return add_site(way->far, code, frame) < 0 ? -1 : 1;
    int names_part = !is(here, plain_torch) && !is(here, library);
    if (!PyList_GET_SIZE(way->inner) && is(way->part, plain_torch) && names_part && !way->is_behind) way->part = here;
    else if (is(here, data)) way->part = data;
    return 1;
}

void call_site_clear(CallSite *site) {
    Py_CLEAR(site->sites);
    Py_CLEAR(site->outer);
    Py_CLEAR(site->part);
    Py_CLEAR(site->issuer);
    Py_CLEAR(site->within);
}

int call_site_of(PyFrameObject *frame, CallSite *found) {
    if (parts == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "begin_walks comes first");
        return 0;
    }
    Way way = {PyList_New(0), PyList_New(0), PyList_New(0), PyList_New(0), plain_torch, NULL, 0};
    int going = way.inner == NULL || way.outer == NULL || way.far == NULL || way.within == NULL ? -1 : 1;
    Py_XINCREF(frame);
    for (Py_ssize_t i = 0; frame != NULL && i < most_frames && going == 1; i++) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        going = pass(&way, frame, code);
        Py_DECREF(code);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    if (going >= 0) {
        found->sites = PyList_AsTuple(!way.is_behind && !PyList_GET_SIZE(way.inner) ? way.far : way.inner);
        found->outer = PyList_AsTuple(way.outer);
        found->within = PyList_AsTuple(way.within);
        found->part = way.part;
        found->issuer = way.issuer == NULL ? plain_torch : way.issuer;
        Py_INCREF(found->part);
        Py_INCREF(found->issuer);
    }
    Py_XDECREF(way.inner);
    Py_XDECREF(way.outer);
    Py_XDECREF(way.far);
    Py_XDECREF(way.within);
    return going >= 0 && found->sites != NULL && found->outer != NULL && found->within != NULL;
}

/* walked(frame): (sites, outer sites, part, issuer, sites within a call of the user's) */
PyObject *walked(PyObject *module, PyObject *frame) {
    CallSite found = {NULL, NULL, NULL, NULL, NULL};
    (void)module;
    if (!PyFrame_Check(frame)) {
        PyErr_SetString(PyExc_TypeError, "takes a frame");
        return NULL;
    }
    int done = call_site_of((PyFrameObject *)frame, &found);
    PyObject *result = done ? PyTuple_Pack(5, found.sites, found.outer, found.part, found.issuer, found.within) : NULL;
    call_site_clear(&found);
    return result;
}
