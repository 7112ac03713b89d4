#include "kernels/host/dnnl_call.hpp"

#include <omp.h>

#include <new>
#include <utility>

namespace sluice {

void rethrow(const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) {
        throw std::bad_alloc();
    }
    throw error;
}

OneThread::OneThread() : before_(omp_get_max_threads()) {
    omp_set_num_threads(1);
}
OneThread::~OneThread() {
    omp_set_num_threads(before_);
}

const dnnl::engine& dnnl_cpu() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

dnnl::memory dnnl_memory(const dnnl::memory::desc& desc) {
    return {desc, dnnl_cpu()};
}

dnnl::memory dnnl_view(const dnnl::memory::desc& desc, const float* values) {
    return {desc, dnnl_cpu(), const_cast<float*>(values)};  // oneDNN's arguments are not const
}

void dnnl_pack(const float* values, const dnnl::memory::desc& from, std::byte* room, const dnnl::memory::desc& to) {
    const OneThread one_thread;
    with_dnnl([&] {
        dnnl::memory source = dnnl_view(from, values);
        dnnl::memory packed(to, dnnl_cpu(), room);
        dnnl::stream stream(dnnl_cpu());
        dnnl::reorder(source, packed).execute(stream, source, packed);
        stream.wait();
    });
}

dnnl::primitive_attr dnnl_attributes(bool relu) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (relu) {
        dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
        after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#else
        after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
#endif
        attributes.set_post_ops(after);
    }
    return attributes;
}

DnnlCall::DnnlCall(dnnl::primitive primitive, const dnnl::memory::desc& source, dnnl::memory weights, dnnl::memory bias,
                   const dnnl::memory::desc& destination, dnnl::memory scratch)
    : stream_(dnnl_cpu()),
      primitive_(std::move(primitive)),
      source_(source, dnnl_cpu(), DNNL_MEMORY_NONE),
      weights_(std::move(weights)),
      bias_(std::move(bias)),
      destination_(destination, dnnl_cpu(), DNNL_MEMORY_NONE),
      scratch_(std::move(scratch)),
      arguments_{{{DNNL_ARG_SRC, source_.get()},
                  {DNNL_ARG_WEIGHTS, weights_.get()},
                  {DNNL_ARG_BIAS, bias_.get()},
                  {DNNL_ARG_DST, destination_.get()},
                  {DNNL_ARG_SCRATCHPAD, scratch_.get()}}} {}

void DnnlCall::operator()(const float* source, float* destination) {
    with_dnnl([&] {
        source_.set_data_handle(const_cast<float*>(source));
        destination_.set_data_handle(destination);
        dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                                       static_cast<int>(arguments_.size()), arguments_.data()),
                                "could not execute a oneDNN primitive");
    });
}

}  // namespace sluice
