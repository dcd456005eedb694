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

enum { ON_CPU = 1, IS_FLOAT = 2 };
enum { MOST_READ = 1 << 20 }; /* elements; torch has many threads for more */

static int is_tensor(PyObject *object) {
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

/* Fill a view of a plain tensor of floats or doubles in the CPU's memory; 0 for any other.

   `span` is how many places of memory its elements lie in. Their order does not matter to us, gaps would: a tensor with
   more places than elements is left to others. */
static int plain_view(PyObject *tensor, View *view, int64_t *span) {
    if (table == NULL || !is_tensor(tensor)) return 0;
    if (table->view(tensor, view) != 0) {
        PyErr_Clear();
        return 0;
    }
    if (view->device.device_type != ON_CPU || view->type.code != IS_FLOAT || view->type.lanes != 1) return 0;
    if (view->type.bits != 32 && view->type.bits != 64) return 0;
    int64_t count = 1, last = 0;
    for (int d = 0; d < view->dimensions; d++) count *= view->shape[d];
    for (int d = 0; d < view->dimensions && view->strides != NULL; d++) {
        if (view->strides[d] < 0) return 0;
        last += (view->shape[d] - 1) * view->strides[d];
    }
    *span = count == 0 ? 0 : view->strides == NULL ? count : last + 1;
    return *span <= count && (count == 0 || view->data != NULL);
}

int one_number(PyObject *tensor, double *value) {
    View view;
    int64_t count;
    if (!plain_view(tensor, &view, &count) || count != 1) return 0;
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
    int64_t count;
    if (!plain_view(tensor, &view, &count) || count > MOST_READ) return 0;
    const char *data = (const char *)view.data + view.byte_offset;
    return view.type.bits == 32 ? finite32((const uint32_t *)data, count) : finite64((const uint64_t *)data, count);
}

int plain_values(PyObject *tensor, Values *values) {
    View view;
    int64_t span, count = 1, step = 1;
    if (!plain_view(tensor, &view, &span) || view.dimensions > MOST_DIMENSIONS) return 0;
    values->in_order = 1;
    for (int d = view.dimensions - 1; d >= 0; d--) {
        values->size[d] = view.shape[d];
        if (view.strides != NULL && view.shape[d] > 1 && view.strides[d] != step) values->in_order = 0;
        step *= view.shape[d];
        count *= view.shape[d];
    }
    values->data = (const char *)view.data + view.byte_offset;
    values->count = count;
    values->dimensions = view.dimensions;
    values->is_double = view.type.bits == 64;
    return span == count;
}

int has_shape(PyObject *tensor, const Shape *shape) {
    View view;
    if (table == NULL || !is_tensor(tensor)) return 0;
    if (table->view(tensor, &view) != 0) {
        PyErr_Clear();
        return 0;
    }
    if (view.dimensions != shape->dimensions) return 0;
    return memcmp(view.shape, shape->size, (size_t)view.dimensions * sizeof *view.shape) == 0;
}
