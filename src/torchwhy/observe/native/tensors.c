/* Reads numbers from tensors through the function table that torch provides (DLPack). */

#include "fast.h"

/* The layout of DLPack, major version 1. */
typedef struct { int32_t device_type, device_id; } Device;
typedef struct { uint8_t code, bits; uint16_t lanes; } Type;
typedef struct {
    void *data;
    Device device;
    int32_t dimensions;
    Type type;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} View;
typedef struct { uint32_t major, minor; } Version;
typedef struct {
    Version version;
    void *older;
    void *allocate, *give, *take;
    int (*view)(void *object, View *view);
    void *stream;
} Table;

enum { ON_CPU = 1 };
enum { INTEGER = 0, UNSIGNED = 1, IS_FLOAT = 2, BRAIN_FLOAT = 4, COMPLEX = 5, BOOLEAN = 6 };
enum { MOST_READ = 1 << 20 }; /* elements; torch has many threads for more */

int is_tensor(PyObject *object) {
    PyObject *type = (PyObject *)Py_TYPE(object);
    return type == torch.tensor || type == torch.parameter;
}

static const Table *table;

int tensors_begin(PyObject *capsule) {
    const Table *found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (found == NULL) return 0;
    if (found->version.major != 1 || found->view == NULL) return 0;
    table = found;
    return 1;
}

/* Tell whether the dimensions that are not expanded fill `span` places of memory without a gap, each place once.

   Expanded ones (stride 0) repeat places. Views that overlap in another way may leave gaps, too, and are left to torch. */
static int is_dense(const View *view, int64_t *span) {
    int order[MOST_DIMENSIONS], dimensions = 0;
    for (int d = view->dimensions - 1; d >= 0; d--) { /* mostly the smallest stride comes first */
        if (view->shape[d] == 1 || view->strides[d] == 0) continue;
        int place = dimensions++;
        for (; place > 0 && view->strides[order[place - 1]] > view->strides[d]; place--) order[place] = order[place - 1];
        order[place] = d;
    }
    *span = 1;
    for (int i = 0; i < dimensions; i++) {
        if (view->strides[order[i]] != *span) return 0;
        *span *= view->shape[order[i]]; /* at most the number of elements */
    }
    return 1;
}

/* Count the elements; 0 if there are more than fit into a number. */
static int count_elements(const View *view, int64_t *count) {
    *count = 1;
    for (int d = 0; d < view->dimensions; d++) {
        int64_t size = view->shape[d];
        if (size < 0 || (size > 0 && *count > INT64_MAX / size)) return 0;
        *count *= size;
    }
    return 1;
}

static int take_view(PyObject *tensor, View *view) {
    if (table == NULL || !is_tensor(tensor)) return 0;
    if (table->view(tensor, view) != 0) {
        PyErr_Clear();
        return 0;
    }
    return view->dimensions >= 0 && view->dimensions <= MOST_DIMENSIONS;
}

/* Fill a view of a plain tensor of floats or doubles in the CPU's memory; 0 for any other.

   `span` is how many places of memory its elements lie in. Their order does not matter to us, gaps would: a tensor with
   gaps is left to others. Numbers may be stored negated, see `is_stored_negated`. */
static int plain_view(PyObject *tensor, View *view, int64_t *count, int64_t *span) {
    if (!take_view(tensor, view) || !count_elements(view, count)) return 0;
    if (view->device.device_type != ON_CPU || view->type.code != IS_FLOAT || view->type.lanes != 1) return 0;
    if (view->type.bits != 32 && view->type.bits != 64) return 0;
    *span = *count;
    if (*count == 0) return 1;
    if (view->data == NULL || ((uintptr_t)view->data + view->byte_offset) % (view->type.bits / 8) != 0) return 0;
    return view->strides == NULL || is_dense(view, span);
}

/* Tell whether torch keeps the numbers of a tensor with the other sign, as in `z.conj().imag`; 1 also if unknown. */
static int is_stored_negated(PyObject *tensor) {
    if (has_modes(torch.function_depth)) return 1; /* a mode of the program would see us ask */
    PyObject *answer = PyObject_CallOneArg(torch.is_neg, tensor);
    int negated = answer != Py_False;
    if (answer == NULL) PyErr_Clear();
    Py_XDECREF(answer);
    return negated;
}

int one_number(PyObject *tensor, double *value) {
    View view;
    int64_t count, span;
    if (!plain_view(tensor, &view, &count, &span) || count != 1 || is_stored_negated(tensor)) return 0;
    const char *data = (const char *)view.data + view.byte_offset;
    if (view.type.bits == 32) {
        float number;
        memcpy(&number, data, sizeof number);
        *value = number;
    } else {
        memcpy(value, data, sizeof *value);
    }
    return 1;
}

/* An exponent of all ones is an infinity or no number. Whole numbers, so that a compiler can do many at once. */
static int finite32(const uint32_t *bits, int64_t count) {
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; i++) bad |= (uint32_t)((bits[i] & 0x7f800000u) == 0x7f800000u);
    return bad == 0;
}

static int finite64(const uint64_t *bits, int64_t count) {
    const uint64_t exponent = 0x7ff0000000000000ull;
    uint64_t bad = 0;
    for (int64_t i = 0; i < count; i++) bad |= (uint64_t)((bits[i] & exponent) == exponent);
    return bad == 0;
}

int is_plain_and_finite(PyObject *tensor) {
    View view;
    int64_t count, span;
    if (!plain_view(tensor, &view, &count, &span) || span > MOST_READ) return 0;
    if (span == 0) return 1;
    const char *data = (const char *)view.data + view.byte_offset;
    return view.type.bits == 32 ? finite32((const uint32_t *)data, span) : finite64((const uint64_t *)data, span);
}

int plain_values(PyObject *tensor, Values *values) {
    View view;
    int64_t span, step = 1;
    if (!plain_view(tensor, &view, &values->count, &span) || span != values->count || is_stored_negated(tensor)) return 0;
    values->in_order = 1;
    for (int d = view.dimensions - 1; d >= 0; d--) {
        values->size[d] = view.shape[d];
        if (view.strides != NULL && view.shape[d] > 1 && view.strides[d] != step) values->in_order = 0;
        step *= view.shape[d];
    }
    values->data = span == 0 ? NULL : (const char *)view.data + view.byte_offset;
    values->dimensions = view.dimensions;
    values->is_double = view.type.bits == 64;
    return 1;
}

/* Tell whether two views show elements of one type in the same order, and fill their memory without a gap. */
static int are_alike(const View *one, const View *other, int64_t *bytes) {
    int64_t count, span;
    if (one->device.device_type != ON_CPU || other->device.device_type != ON_CPU) return 0;
    if (memcmp(&one->type, &other->type, sizeof one->type) != 0 || one->type.bits % 8 != 0 || one->type.lanes != 1) return 0;
    if (one->dimensions != other->dimensions || (one->strides == NULL) != (other->strides == NULL)) return 0;
    for (int d = 0; d < one->dimensions; d++) {
        if (one->shape[d] != other->shape[d]) return 0;
        if (one->strides != NULL && one->shape[d] > 1 && one->strides[d] != other->strides[d]) return 0;
    }
    if (!count_elements(one, &count) || count > MOST_READ) return 0;
    *bytes = count * (one->type.bits / 8);
    if (count == 0) return 1;
    if (one->data == NULL || other->data == NULL) return 0;
    return one->strides == NULL || (is_dense(one, &span) && span == count);
}

int copy_memory(PyObject *copies, PyObject *references) {
    if (!PyList_CheckExact(copies) || !PyList_CheckExact(references)) return 0;
    Py_ssize_t count = PyList_GET_SIZE(copies);
    if (count == 0 || PyList_GET_SIZE(references) != count) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *reference = PyList_GET_ITEM(references, i);
        View from, to;
        int64_t bytes;
        if (!PyWeakref_CheckRef(reference)) return 0;
        if (!take_view(referent(reference), &from) || !take_view(PyList_GET_ITEM(copies, i), &to)) return 0;
        if (!are_alike(&from, &to, &bytes)) return 0;
        if (bytes > 0) memcpy((char *)to.data + to.byte_offset, (const char *)from.data + from.byte_offset, (size_t)bytes);
    }
    return 1;
}

int has_shape(PyObject *tensor, const Shape *shape) {
    View view;
    if (!take_view(tensor, &view) || view.dimensions != shape->dimensions) return 0;
    for (int d = 0; d < view.dimensions; d++)
        if (view.shape[d] != shape->size[d]) return 0;
    return 1;
}

int layout_of(PyObject *tensor, Layout *layout) {
    View view;
    if (!take_view(tensor, &view) || !count_elements(&view, &layout->count) || view.device.device_type != ON_CPU) return 0;
    if (view.type.lanes != 1 || view.type.bits % 8 != 0) return 0;
    switch (view.type.code) {
    case IS_FLOAT: case BRAIN_FLOAT: layout->kind = IS_REAL; break;
    case INTEGER: case UNSIGNED: case BOOLEAN: layout->kind = IS_WHOLE; break;
    case COMPLEX: layout->kind = IS_COMPLEX; break;
    default: return 0;
    }
    if (layout->count > 0 && view.data == NULL) return 0;
    layout->data = (const char *)view.data + view.byte_offset;
    layout->width = view.type.bits / 8;
    layout->dimensions = view.dimensions;
    for (int d = 0; d < view.dimensions; d++) layout->size[d] = view.shape[d];
    return 1;
}
