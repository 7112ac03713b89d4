#pragma once

#include <array>
#include <dnnl.hpp>

#include "core/weights/packed_weights.hpp"

namespace sluice {

/// Throws std::bad_alloc if oneDNN is out of memory, otherwise the error itself.
[[noreturn]] void rethrow(const dnnl::error& error);

/// Returns call(), which uses oneDNN; its errors go through rethrow().
template <class Call>
auto with_dnnl(Call&& call) {
    try {
        return call();
    } catch (const dnnl::error& error) {
        rethrow(error);
    }
}

/// While it exists, oneDNN plans and runs in the calling thread only: a host device is one core.
class OneThread {
public:
    OneThread();
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;
    ~OneThread();

private:
    int before_;
};

[[nodiscard]] const dnnl::engine& dnnl_cpu();

/// Memory laid out as `desc`, owned by oneDNN.
[[nodiscard]] dnnl::memory dnnl_memory(const dnnl::memory::desc& desc);

/// A view of `values`, laid out as `desc`; oneDNN only reads it.
[[nodiscard]] dnnl::memory dnnl_view(const dnnl::memory::desc& desc, const float* values);

/// Copies `values`, laid out as `from`, to `room`, laid out as `to`.
void dnnl_pack(const float* values, const dnnl::memory::desc& from, std::byte* room, const dnnl::memory::desc& to);

/// For a primitive whose caller provides the scratch memory; with max(0, x) as its epilogue if `relu`.
[[nodiscard]] dnnl::primitive_attr dnnl_attributes(bool relu);

/// oneDNN's descriptor of the primitive that `arguments` describe, for the calling thread only. Version 2 takes them as
/// an operation descriptor, which version 3 does not have.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc dnnl_plan(const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
    const OneThread one_thread;
#if DNNL_VERSION_MAJOR >= 3
    return {dnnl_cpu(), arguments..., attributes};
#else
    return {{arguments...}, attributes, dnnl_cpu()};
#endif
}

/// A primitive with its arguments bound, except source and destination, which each call sets.
class DnnlCall {
public:
    DnnlCall(dnnl::primitive primitive, const dnnl::memory::desc& source, dnnl::memory weights, dnnl::memory bias,
             const dnnl::memory::desc& destination, dnnl::memory scratch);

    void operator()(const float* source, float* destination);

private:
    dnnl::stream stream_;
    dnnl::primitive primitive_;
    dnnl::memory source_;
    dnnl::memory weights_;
    dnnl::memory bias_;
    dnnl::memory destination_;
    dnnl::memory scratch_;
    std::array<dnnl_exec_arg_t, 5> arguments_;
};

}  // namespace sluice
