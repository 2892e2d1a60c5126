// expect: "this function takes floating-point numbers"
#include <type_traits>

template <class T>
T half_of(T value) {
    static_assert(std::is_floating_point_v<T>, "this function takes floating-point numbers");
    return value / 2;
}

#if defined(PREFER_CONTROL)
double result() {
    return half_of(1.0);
}
#else
int result() {
    return half_of(1);
}
#endif
