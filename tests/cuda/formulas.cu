// Compiles the scalar layer inside kernels: every function of math/, every loss formula with its
// gradient and curvature, a user's own loss, the generator. There is no host-only call in them.

#include <cstddef>

#include <prefer/prefer.hpp>

namespace {

/// A loss of the user's own: the marker is all that a struct needs to run in a kernel.
struct squared_hinge {
    double beta = 0.1;

    template <class S>
    PREFER_HOST_DEVICE S operator()(prefer::pair<S> const& p) const {
        using prefer::math::max;
        using real = prefer::math::primal_t<S>;
        S const gap = max(S(real(0)), real(1) - real(beta) * p.margin());
        return gap * gap;
    }
};

template <class T>
__global__ void math_kernel(T const* in, T* out) {
    using namespace prefer::math;
    using D = dual<dual<T>>;
    T const x = in[threadIdx.x];
    D const d = D::variable(dual<T>::variable(x));
    T const plain[] = {exp(x),         expm1(x),     log(x),          log1p(x),
                       sqrt(x),        abs(x),       max(x, T(1)),    min(x, T(1)),
                       detach(x),      sigmoid(x),   softplus(x),     log1pexp(x),
                       log_sigmoid(x), log1mexp(-x), logaddexp(x, x), logit(x)};
    D const duals[] = {exp(d),         expm1(d),     log(d),          log1p(d),
                       sqrt(d),        abs(d),       max(d, D(T(1))), min(d, D(T(1))),
                       detach(d),      sigmoid(d),   softplus(d),     log1pexp(d),
                       log_sigmoid(d), log1mexp(-d), logaddexp(d, d), logit(d)};
    T sum = log_sum_exp(in, in + 3) + log_sum_exp(duals, duals + 3).gradient[0].gradient[0];
    sum += is_nan(x) || !is_finite(d) ? T(1) : select(x > T(0), x, T(0));
    for (T const y : plain) sum += y;
    for (D const& y : duals) sum += y.gradient[0].gradient[0];
    out[threadIdx.x] = sum;
}

template <class Loss, class T>
__global__ void loss_kernel(Loss loss, T const* in, T* out) {
    using D = prefer::math::dual<T>;
    T const* const x = in + 4 * threadIdx.x;
    prefer::pair<T> const p{{x[0], x[1], T(3), T(1)}, {x[2], x[3], T(4), T(2)}};
    auto const first = prefer::loss::value_and_grad(loss, p);
    prefer::pair<D> const q{{D::variable(x[0]), x[1], T(3), T(1)}, {D(x[2]), x[3], T(4), T(2)}};
    auto const second = prefer::loss::value_and_grad(loss, q);
    out[threadIdx.x] = loss(p) + first.loss + first.d_chosen + first.d_rejected +
                       second.d_chosen.gradient[0] + prefer::loss::reward(loss, p.chosen, true);
}

template <class Loss, class T>
__global__ void example_kernel(Loss loss, T const* in, T* out) {
    T const* const x = in + 3 * threadIdx.x;
    prefer::example<T> const e{{x[0], x[1], T(3), T(1)}, x[2]};
    auto const y = prefer::loss::value_and_grad(loss, e);
    out[threadIdx.x] = loss(e) + y.loss + y.d_policy;
}

__global__ void random_kernel(prefer::philox::state const* states, double* out) {
    prefer::philox rng(states[threadIdx.x]);
    rng.discard(3);
    out[threadIdx.x] =
        prefer::uniform01<double>(rng) + static_cast<double>(prefer::uniform01<float>(rng));
}

__global__ void storage_kernel(prefer::vector_view<prefer::bfloat16> a,
                               prefer::matrix_view<prefer::half> b) {
    a[threadIdx.x] = prefer::bfloat16(static_cast<float>(b.row(0)[threadIdx.x]));
    b(0, threadIdx.x) = prefer::half(static_cast<float>(a.slice(0, 1)[0]));
}

template <class T>
void launch_all(T const* in, T* out) {
    math_kernel<<<1, 32>>>(in, out);
    namespace loss = prefer::loss;
    loss_kernel<<<1, 32>>>(loss::alpha_po{}, in, out);
    loss_kernel<<<1, 32>>>(loss::aot{}, in, out);
    loss_kernel<<<1, 32>>>(loss::apo_down{}, in, out);
    loss_kernel<<<1, 32>>>(loss::apo_zero{}, in, out);
    loss_kernel<<<1, 32>>>(loss::bco_pair{}, in, out);
    loss_kernel<<<1, 32>>>(loss::bradley_terry{}, in, out);
    loss_kernel<<<1, 32>>>(loss::cal_dpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::cpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::davidson{}, in, out);
    loss_kernel<<<1, 32>>>(loss::discopop{}, in, out);
    loss_kernel<<<1, 32>>>(loss::dpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::dpop{}, in, out);
    loss_kernel<<<1, 32>>>(loss::exo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::hinge_norm{}, in, out);
    loss_kernel<<<1, 32>>>(loss::ipo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::nca{}, in, out);
    loss_kernel<<<1, 32>>>(loss::online_ipo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::orpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::preference_model{}, in, out);
    loss_kernel<<<1, 32>>>(loss::r_dpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::rao_kupper{}, in, out);
    loss_kernel<<<1, 32>>>(loss::rebel{}, in, out);
    loss_kernel<<<1, 32>>>(loss::reward_aware_rpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::robust_dpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::simpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::slic{}, in, out);
    loss_kernel<<<1, 32>>>(loss::spin{}, in, out);
    loss_kernel<<<1, 32>>>(loss::sppo_hard{}, in, out);
    loss_kernel<<<1, 32>>>(loss::tpo{}, in, out);
    loss_kernel<<<1, 32>>>(loss::xpo{loss::ipo{}, 1e-5}, in, out);
    loss_kernel<<<1, 32>>>(loss::with_nll{loss::dpo{}, 0.5}, in, out);
    loss_kernel<<<1, 32>>>(
        loss::mixture{loss::weighted{loss::dpo{}, 0.8}, loss::weighted{loss::nca{}, 0.2}}, in, out);
    loss_kernel<<<1, 32>>>(loss::with_divergence{loss::dpo{}, loss::divergence::alpha{}}, in, out);
    loss_kernel<<<1, 32>>>(loss::with_divergence{loss::ipo{}, loss::divergence::jensen_shannon{}},
                           in, out);
    loss_kernel<<<1, 32>>>(loss::with_divergence{loss::exo{}, loss::divergence::forward_kl{}}, in,
                           out);
    loss_kernel<<<1, 32>>>(squared_hinge{}, in, out);
    example_kernel<<<1, 32>>>(loss::apo_zero_unpaired{}, in, out);
    example_kernel<<<1, 32>>>(loss::aot_unpaired{}, in, out);
    example_kernel<<<1, 32>>>(loss::bco{}, in, out);
    example_kernel<<<1, 32>>>(loss::kto{}, in, out);
    example_kernel<<<1, 32>>>(loss::nash_md{}, in, out);
    example_kernel<<<1, 32>>>(loss::reward_regression{}, in, out);
    example_kernel<<<1, 32>>>(loss::sft{}, in, out);
}

}  // namespace

void compile_all(float const* f, float* g, double const* x, double* y,
                 prefer::philox::state const* states, prefer::vector_view<prefer::bfloat16> a,
                 prefer::matrix_view<prefer::half> b) {
    launch_all(f, g);
    launch_all(x, y);
    random_kernel<<<1, 32>>>(states, y);
    storage_kernel<<<1, 32>>>(a, b);
}
