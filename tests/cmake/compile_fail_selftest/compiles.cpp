// expect: "these words"
// Nothing is wrong here, with or without PREFER_CONTROL; a harness that accepts it is broken.
int result() {
    return 1;
}
