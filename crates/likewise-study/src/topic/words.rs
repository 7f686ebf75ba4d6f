//! The words of tables and help, explained.

/// Words, what each is in short, and what is to be said of it.
pub(super) const WORDS: [(&str, &str, &str); 29] = [
    (
        "auto",
        "word: how fit chooses a recipe",
        "Recipes are compared on labels that they do not learn from: each keeps some of the labels \
         at hand back in turn, and what counts is how many of their class come first. The first of \
         the table is the one that stands where nothing can be compared, with fewer than three \
         labels a class or 16 in all: mild-joined, or rooted-mild-joined of histograms. \
         The others follow, those that rarely lose first; one that is \
         not clearly better than the best before it (by about a standard error, and by half a point) \
         loses to it. After two rounds those that are behind are tried no further, and are not taken: their values are of fewer \
         rounds, so compare the gains. Fewer than 16 labels that can ask compare nothing. Labels that choose and also measure make the measured value a little too \
         good; those of a test part do not. Where the \
         classes that are searched have no labels, start (or scaled-start), mixed-rca and, where no feature is negative, both of their roots are compared by the \
         classes that validate, at once and by an interval over these classes; where none can, as of fewer than six \
         classes, the start stands. Use it unless you compare methods.",
    ),
    (
        "r-at-k",
        "word: R@1, R@8, recall at k",
        "The share of queries that have at least one right answer among the first k. R@1 is how \
         often the very first answer is right. In the field's sense, not the share of all right \
         answers that were found. Queries without any other item of their class are left out.",
    ),
    (
        "p-at-k",
        "word: precision at k",
        "The share of right answers among the first k, in the mean over queries. A query with fewer \
         than k right answers in the gallery cannot reach 1.",
    ),
    (
        "map-at-r",
        "word: MAP@R, the metric that decides",
        "With R right answers in the gallery, the mean over the first R places of the precision at \
         each place that holds a right answer, 0 for the others. 1 is: all right ones first. It \
         looks deeper than R@1 and rewards order, so one model can gain in MAP@R and lose in R@1. \
         Source: Musgrave, Belongie & Lim 2020.",
    ),
    (
        "r-precision",
        "word: the metric of a handful of labels",
        "With R items of a class besides the query, the share of them among the first R answers. \
         fit measures it where too few items are labeled for a test set: ranks among all items are \
         known for those labels that were kept back.",
    ),
    (
        "query",
        "word: the item that asks",
        "What you search with. In a measurement, the labeled items of the test part ask one by one; \
         an item never finds itself.",
    ),
    (
        "gallery",
        "word: the items that are searched",
        "What is searched, ranked by similarity to the query. A small gallery makes every number \
         look better: compare only numbers of the same gallery.",
    ),
    (
        "zero-shot",
        "word: search among classes never seen",
        "A split by class: the tested classes have no item in the part that is fitted. It answers \
         whether what was learned is of use for new classes: the split zero-shot. The other question, \
         more items of known classes, is the split item.",
    ),
    (
        "item-split",
        "word: search among the labeled classes",
        "A split within each class: most items are fitted (a few with their labels), the others ask \
         and are searched: the split item.",
    ),
    (
        "folds",
        "word: measuring without a test part",
        "All labels are fitted. In rounds, some are kept back and ask among all items; the model in \
         the run has learned from all of them. What fit does with a handful of labels, or with \
         the split folds.",
    ),
    (
        "all-labels",
        "word: the oracle's row",
        "The same recipe with every true label of the part that is fitted. It is no result but a \
         measure of what more labels would give. Also called the oracle.",
    ),
    (
        "labels-only",
        "word: the row without spreading",
        "The same learner on the known labels alone, and on unlabeled items where it reads them itself (lrml, deep-lrml \
         ...). The distance to the recipe's row is what \
         spreading labels to other items gave.",
    ),
    (
        "raw-features",
        "word: the row of features as they are",
        "The cosine of the features as they came. Nothing is learned; a model must beat it, and the \
         centred and whitened rows, to be worth its trouble.",
    ),
    (
        "centred",
        "word: the mildest start without labels",
        "Rows of length one, less four fifths of their mean; columns by their standard deviations \
         where one of them varies more than all others together. It needs no label, and on 43 sets \
         it fell clearly below the features as they are on none in MAP@R.",
    ),
    (
        "roots",
        "word: the start of features that are never negative",
        "The square root of every feature, then as the centred row, compared by the cosine. Of histograms, \
         counts and activations of a network a few large values outweigh all others, and their roots share \
         better; measured quantities often lose. The row is there only where no feature is negative. It needs no \
         label.",
    ),
    (
        "scaled",
        "word: the start of tables whose columns are of different units",
        "The features less their mean, every column divided by its standard deviation, compared by the \
         cosine. The row is there only where one column varies more than all others together. It needs \
         no label; on some tables it is far above the centred row, on others far below.",
    ),
    (
        "interval",
        "word: what stands behind the sign ±",
        "Half of the 95 % interval; where one side of it is more than twice as long as the other, both \
         sides stand there, as in 0.980 -0.050 +0.020. Queries of one class are drawn together, and label draws as \
         well, so that it holds for other items and other labels of the same collection. A \
         difference whose interval holds 0 is not shown to be one.",
    ),
    (
        "pseudo-label",
        "word: a label that was spread, not given",
        "The class that propagation puts an item into. Each has a confidence, which is its weight \
         in learning; beliefs.npz of the run holds them.",
    ),
    (
        "belief",
        "word: what is thought of an item's class",
        "One row an item: a score for each class, the class that was decided (the pseudo-label), \
         and how sure it is (the confidence). `likewise propagate` writes them.",
    ),
    (
        "view",
        "word: one feature matrix of the items",
        "Items can have several: pixels, an embedding of a network, one of the title. An item may \
         lack a view; one is chosen by its name. A random crop of a picture is an augmentation, never \
         a view.",
    ),
    (
        "whitened",
        "word: a start without labels, and a row of the tables",
        "The features turned to their principal directions and scaled so that all of these count nearly alike, with \
         a shrinkage that no label chooses, compared by the cosine. It needs no label; see whitening.",
    ),
    (
        "standardised",
        "word: columns of one size",
        "Of a table, each column of numbers less its mean and divided by its standard deviation, so that a column in \
         grams does not outweigh one in metres. A table of numbers alone of which none is missing stays as it is, until a graph of it is built: there the \
         setting standardize brings all columns to one scale, or none; where it is not given, it does so if one of at least three \
         columns holds more than a quarter of the variance and more than twice its even share, and varies five times as much \
         as half of them. Which column that is, is said. Of several views each is looked at by itself, and weighs beside the others what it did before.",
    ),
    (
        "class-sizes",
        "word: how large the classes are, where that is known",
        "Labels are few, and the sizes of the classes are often known from elsewhere: lgc, mixed and poisson hold \
         them when they decide, poisson-mbo again and again. They are balanced, labeled (their share of the labels), estimated, free, \
         within a ratio of the equal size, or a table with the columns class and size; only the proportions count. Sizes that are \
         wrong cost more than none: balanced where they are 10 to 1 up to a third of the items, and up to half where one \
         class has nearly all.",
    ),
    (
        "isolated",
        "word: items without a neighbour",
        "Items that no other is joined to on the graph of neighbours: rows of zeros, and items that nothing is like. \
         No label reaches them, so nothing is believed of them unless they are labeled themselves.",
    ),
    (
        "components",
        "word: parts of the graph",
        "Groups of items that hang together on the graph of neighbours and have no edge to others. Labels spread \
         within them only: a part without a label is reached by none. One item without a neighbour is a part as well.",
    ),
    (
        "eff-rank",
        "word: in how many directions the rows vary",
        "The effective rank: the exponential of the entropy of the shares of the variance along the principal \
         directions. Near the number of columns all count alike; near 1 the rows are nearly a line; below 3 most pairs \
         look alike.",
    ),
    (
        "sure",
        "word: how sure a belief is, 0 to 1",
        "Of a belief, its confidence; of a suspect, that of the class which the others say. advise calibrates it on \
         labels that are kept back in turn, where there are ten: of items that are 0.8 sure some 80 of 100 should be right, \
         as far as items without a label are like those with one. It says nothing where the features believe \
         another class than the embedding.",
    ),
    (
        "gain",
        "word: what a recipe adds",
        "Of recipes that are compared, the mean difference to the best of those before it, item by item, and half of \
         its interval. A recipe takes the place of the best where its gain is above half a point and above half of \
         what stands behind its ±; see auto.",
    ),
    (
        "rounds",
        "word: how often labels are kept back in turn",
        "In each round other labels are kept back and ask, and what is learned from the rest answers; after five, each \
         has asked once. Of recipes that are compared, one that is clearly behind after two is tried no further; \
         see folds and auto.",
    ),
];
