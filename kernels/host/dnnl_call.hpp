#pragma once

#include <array>
#include <dnnl.hpp>

namespace sluice {

/// Throws std::bad_alloc for a oneDNN error that says so, and the error itself for any other.
[[noreturn]] void rethrow(const dnnl::error& error);

/// What `call`, which uses oneDNN, returns; what oneDNN throws goes through rethrow().
template <class Call>
auto with_dnnl(Call&& call) {
    try {
        return call();
    } catch (const dnnl::error& error) {
        rethrow(error);
    }
}

/// While it lives, oneDNN plans and runs in the calling thread alone: a host device is one core.
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

/// fp32 memory of `size` bytes' worth, described by `desc`, that oneDNN owns.
[[nodiscard]] dnnl::memory dnnl_memory(const dnnl::memory::desc& desc);

/// Copies `values`, laid out as `from`, into new memory laid out as `to`.
[[nodiscard]] dnnl::memory dnnl_packed(const float* values, const dnnl::memory::desc& from,
                                       const dnnl::memory::desc& to);

/// A primitive with its arguments bound; source and destination are set a call.
class DnnlCall {
public:
    DnnlCall(dnnl::primitive primitive, const dnnl::memory::desc& source, const dnnl::memory& weights,
             const dnnl::memory& bias, const dnnl::memory::desc& destination, const dnnl::memory& scratch);

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
