// expect: "these words"
static_assert(sizeof(char) == 2, "these words");
