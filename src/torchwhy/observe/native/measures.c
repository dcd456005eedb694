/* Measures a tensor in one pass and without an operation of torch; the first step measures many.

   Each answers None for a tensor that is not plain: of another type, on a device, with gaps, or too large for one
   thread. replay/microscope/measures.py asks torch then. */

#include "fast.h"
#include <float.h>
#include <math.h>

enum { MOST_MEASURED = 1 << 22 }; /* elements; torch has many threads for more */
enum { LANES = 8 };               /* sums that run beside each other, so that a compiler can do many at once */

typedef struct {
    int64_t nan, positive, negative, zeros, finite;
    double least, most, squares;
} Measured;

#define MEASURE(name, real)                                                                  \
    static void name(const real *values, int64_t count, Measured *found) {                   \
        double squares[LANES] = {0};                                                         \
        real least[LANES], most[LANES];                                                      \
        int64_t zeros = 0, bad = 0, whole = count - count % LANES;                           \
        for (int l = 0; l < LANES; l++) least[l] = (real)INFINITY, most[l] = -(real)INFINITY; \
        for (int64_t i = 0; i < whole; i += LANES) {                                         \
            for (int l = 0; l < LANES; l++) {                                                \
                real value = values[i + l];                                                  \
                squares[l] += (double)value * (double)value;                                 \
                least[l] = value < least[l] ? value : least[l];                              \
                most[l] = value > most[l] ? value : most[l];                                 \
                zeros += value == 0;                                                         \
                bad += !(value - value == 0);                                                \
            }                                                                                \
        }                                                                                    \
        for (int64_t i = whole; i < count; i++) {                                            \
            real value = values[i];                                                          \
            squares[0] += (double)value * (double)value;                                     \
            least[0] = value < least[0] ? value : least[0];                                  \
            most[0] = value > most[0] ? value : most[0];                                     \
            zeros += value == 0;                                                             \
            bad += !(value - value == 0);                                                    \
        }                                                                                    \
        found->least = INFINITY, found->most = -INFINITY, found->squares = 0;                \
        found->nan = found->positive = found->negative = 0;                                  \
        found->zeros = zeros, found->finite = count - bad;                                   \
        for (int l = 0; l < LANES; l++) {                                                    \
            found->squares += squares[l];                                                    \
            if (least[l] < found->least) found->least = least[l];                            \
            if (most[l] > found->most) found->most = most[l];                                \
        }                                                                                    \
        if (bad == 0) return;                                                                \
        found->least = INFINITY, found->most = -INFINITY; /* of the finite ones */           \
        for (int64_t i = 0; i < count; i++) {                                                \
            real value = values[i];                                                          \
            if (isnan(value)) found->nan++;                                                  \
            else if (isinf(value)) *(value > 0 ? &found->positive : &found->negative) += 1;  \
            else {                                                                           \
                if (value < found->least) found->least = value;                              \
                if (value > found->most) found->most = value;                                \
            }                                                                                \
        }                                                                                    \
    }
MEASURE(measure32, float)
MEASURE(measure64, double)
#undef MEASURE

PyObject *measured(PyObject *module, PyObject *tensor) {
    Values values;
    Measured found;
    (void)module;
    if (!plain_values(tensor, &values) || values.count > MOST_MEASURED) Py_RETURN_NONE;
    if (values.is_double) measure64(values.data, values.count, &found);
    else measure32(values.data, values.count, &found);
    if (found.finite == 0) found.least = found.most = NAN;
    return Py_BuildValue("LLLLddd", (long long)found.nan, (long long)found.positive, (long long)found.negative,
                         (long long)found.zeros, found.least, found.most, found.squares);
}

PyObject *has_nonzero(PyObject *module, PyObject *tensor) {
    Values values;
    int found = 0;
    (void)module;
    if (!plain_values(tensor, &values)) Py_RETURN_NONE;
    const float *floats = values.data;
    const double *doubles = values.data;
    for (int64_t i = 0; i < values.count && !found; i++) found = values.is_double ? doubles[i] != 0 : floats[i] != 0;
    return PyBool_FromLong(found);
}

static double number_at(const Values *values, int64_t place) {
    return values->is_double ? ((const double *)values->data)[place] : ((const float *)values->data)[place];
}

/* Rows lie one behind the other, at least two of them, none of them empty. */
static int has_rows(PyObject *tensor, Values *values) {
    return plain_values(tensor, values) && values->in_order && values->dimensions > 0 && values->count > 0 &&
           values->count <= MOST_MEASURED;
}

PyObject *same_rows(PyObject *module, PyObject *tensor) {
    Values values;
    (void)module;
    if (!has_rows(tensor, &values)) Py_RETURN_NONE;
    int64_t width = values.count / values.size[0];
    for (int64_t i = width; i < values.count; i++)
        if (number_at(&values, i) != number_at(&values, i % width)) Py_RETURN_FALSE;
    Py_RETURN_TRUE;
}

PyObject *rows_apart(PyObject *module, PyObject *tensor) {
    Values values;
    (void)module;
    if (!has_rows(tensor, &values)) Py_RETURN_NONE;
    int64_t width = values.count / values.size[0];
    double apart = 0, largest = 0;
    int has_nan = 0;
    for (int64_t row = 0; row < values.count; row += width) {
        for (int64_t i = 0; i < width; i++) {
            double value = number_at(&values, row + i), away = fabs(value - number_at(&values, i));
            has_nan |= isnan(value) || isnan(away);
            if (away > apart) apart = away;
            if (fabs(value) > largest) largest = fabs(value);
        }
    }
    if (has_nan) Py_RETURN_NONE;
    return Py_BuildValue("dd", apart, largest);
}

/* The units of a layer are the places along one dimension: how many are 0 for every sample, and how many values there
   are at 0, below `low` and above `high`. */
PyObject *units_at_rest(PyObject *module, PyObject *args) {
    PyObject *tensor;
    Values values;
    int dimension;
    double low, high;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oidd", &tensor, &dimension, &low, &high)) return NULL;
    if (!has_rows(tensor, &values) || dimension < 0 || dimension >= values.dimensions) Py_RETURN_NONE;
    int64_t inner = 1, units = values.size[dimension], zeros = 0, flat = 0, dead = 0;
    for (int d = dimension + 1; d < values.dimensions; d++) inner *= values.size[d];
    char *fires = PyMem_Calloc((size_t)units, 1);
    if (fires == NULL) return PyErr_NoMemory();
    for (int64_t i = 0; i < values.count; i++) {
        double value = number_at(&values, i);
        if (value == 0) zeros++;
        else fires[i / inner % units] = 1;
        flat += value < low || value > high;
    }
    for (int64_t unit = 0; unit < units; unit++) dead += !fires[unit];
    PyMem_Free(fires);
    return Py_BuildValue("LLL", (long long)dead, (long long)zeros, (long long)flat);
}
