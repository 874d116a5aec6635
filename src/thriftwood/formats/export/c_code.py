"""The C functions that walk the arrays of `c_arrays`; what a forest has no use for is left out."""

from string import Template

import numpy as np

from thriftwood.forest import NEXT_TO_ZERO, NO_SET, Forest


def c_code(forest: Forest, name: str) -> str:
    """Return the functions; all names begin with `name`."""
    has_zeros = forest.zero_is_missing.any()
    has_sets = (forest.category_set != NO_SET).any()
    single = forest.input_dtype == np.float32
    parts = [
        ASKING,
        GOES_LEFT,
        ZERO_IS_MISSING if has_zeros else "",
        CATEGORIES if has_sets else "",
        THRESHOLD,
        SUM,
        MEAN if forest.combine == "mean" else "",
        BIAS if forest.bias.any() else "",
        "}\n",
        LINKS[_link_of(forest)],
        PUBLIC,
    ]
    return Template("".join(parts)).substitute(
        name=name,
        real="float" if single else "double",
        tiny="1e-35f" if single else repr(NEXT_TO_ZERO),
        n_features=forest.n_features,
        n_trees=forest.n_trees,
        n_outputs=forest.n_outputs,
    )


def _link_of(forest: Forest) -> str:
    if forest.link == "logistic" and forest.n_outputs == 1 and forest.is_classifier:
        return "two classes"
    return forest.link


ASKING = """\
#ifdef __FAST_MATH__
#error "Compile without -ffast-math: missing values are NaN."
#endif

/* Where values come from: a row, or a function that is asked once for each feature. */
struct ${name}_source {
    const double *row;
    double *answers;
    unsigned char *known;
    double (*get)(int feature, void *context);
    void *context;
};

static double ${name}_ask(const struct ${name}_source *from, int feature)
{
    if (from->known && !from->known[feature]) {
        from->known[feature] = 1;
        from->answers[feature] = from->get(feature, from->context);
    }
    return from->row[feature];
}

"""

GOES_LEFT = """\
static int ${name}_goes_left(int32_t split, ${real} value)
{
    int rule = ${name}_rule[split];
    if (value != value)
        return rule & 1;
"""

ZERO_IS_MISSING = """\
    if ((rule & 2) && value >= -${tiny} && value <= ${tiny})
        return rule & 1;
"""

CATEGORIES = """\
    if (rule & 4) {
        int32_t set = ${name}_set[split];
        int32_t place;
        if (value <= -1 || (value < 0 ? 0 : value) >= ${name}_set_size[set])
            return 0;
        place = (int32_t)value;
        return (${name}_set_bits[${name}_set_start[set] + place / 8] >> (place % 8)) & 1;
    }
"""

THRESHOLD = """\
    return value <= ${name}_threshold[split];
}

"""

SUM = """\
static void ${name}_add_up(const struct ${name}_source *from, double *scores)
{
    int32_t tree, at;
    int k;
    for (k = 0; k < ${n_outputs}; k++)
        scores[k] = 0.0;
    for (tree = 0; tree < ${n_trees}; tree++) {
        at = ${name}_root[tree];
        while (at >= 0) {
            ${real} value = (${real})${name}_ask(from, ${name}_feature[at]);
            at = ${name}_goes_left(at, value) ? ${name}_left[at] : ${name}_right[at];
        }
        for (k = 0; k < ${n_outputs}; k++)
            scores[k] += ${name}_value[(-1 - at) * ${n_outputs} + k];
    }
"""

MEAN = """\
    for (k = 0; k < ${n_outputs}; k++)
        scores[k] /= ${n_trees};
"""

BIAS = """\
    for (k = 0; k < ${n_outputs}; k++)
        scores[k] += ${name}_bias[k];
"""

LINKS = {
    "identity": """
static void ${name}_link(double *out)
{
    (void)out;
}
""",
    "two classes": """
static void ${name}_link(double *out)
{
    out[1] = 1.0 / (1.0 + exp(-out[0]));
    out[0] = 1.0 - out[1];
}
""",
    "logistic": """
static void ${name}_link(double *out)
{
    int k;
    for (k = 0; k < ${n_outputs}; k++)
        out[k] = 1.0 / (1.0 + exp(-out[k]));
}
""",
    "softmax": """
static void ${name}_link(double *out)
{
    double most = out[0], total = 0.0;
    int k;
    for (k = 1; k < ${n_outputs}; k++)
        if (out[k] > most)
            most = out[k];
    for (k = 0; k < ${n_outputs}; k++) {
        out[k] = exp(out[k] - most);
        total += out[k];
    }
    for (k = 0; k < ${n_outputs}; k++)
        out[k] /= total;
}
""",
    "exp": """
static void ${name}_link(double *out)
{
    out[0] = exp(out[0]);
}
""",
}

PUBLIC = """
void ${name}_scores(const double *row, double *scores);
void ${name}_predict(const double *row, double *out);
void ${name}_scores_lazily(double (*get)(int feature, void *context), void *context,
                           double *scores);
void ${name}_predict_lazily(double (*get)(int feature, void *context), void *context,
                            double *out);

void ${name}_scores(const double *row, double *scores)
{
    struct ${name}_source from = {0};
    from.row = row;
    ${name}_add_up(&from, scores);
}

void ${name}_predict(const double *row, double *out)
{
    ${name}_scores(row, out);
    ${name}_link(out);
}

void ${name}_scores_lazily(double (*get)(int feature, void *context), void *context,
                           double *scores)
{
    double answers[${n_features}];
    unsigned char known[${n_features}] = {0};
    struct ${name}_source from;
    from.row = answers;
    from.answers = answers;
    from.known = known;
    from.get = get;
    from.context = context;
    ${name}_add_up(&from, scores);
}

void ${name}_predict_lazily(double (*get)(int feature, void *context), void *context,
                            double *out)
{
    ${name}_scores_lazily(get, context, out);
    ${name}_link(out);
}
"""
