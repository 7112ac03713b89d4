#include "core/device/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/device/cuda_error.hpp"
#include "core/device/cuda_stream.hpp"
#include "core/error.hpp"

namespace sluice {
namespace {

std::string bus_id(int index) {
    std::array<char, 32> text{};
    check_cuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index), "cudaDeviceGetPCIBusId");
    return text.data();
}

/// "17:00.0": without the domain, which is 0 almost everywhere and shown where it is not.
std::string pci_address(int index) {
    const std::string address = bus_id(index);
    const std::size_t domain_end = address.find(':');
    const bool domain_is_zero = address.find_first_not_of('0') == domain_end;
    return domain_is_zero ? address.substr(domain_end + 1) : address;
}

/// As nvidia-smi and CUDA_VISIBLE_DEVICES write it: "GPU-8-4-4-4-12"; of an instance "MIG-8-4-4-4-12".
std::string uuid_text(const cudaDeviceProp& properties) {
    const cudaUUID_t& uuid = properties.uuid;
    std::string text = names_instance(properties.name) ? "MIG" : "GPU";
    for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
        const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        text += fmt::format("{}{:02x}", dash ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

cudaDeviceProp properties_of(std::uint32_t index) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, static_cast<int>(index)), "cudaGetDeviceProperties");
    return properties;
}

void free_device(void*, std::span<std::byte> bytes) noexcept {
    cudaFree(bytes.data());
}

void free_pinned(void*, std::span<std::byte> bytes) noexcept {
    cudaFreeHost(bytes.data());
}

}  // namespace

CudaDevice::CudaDevice(int index, const CudaDeviceOptions& options) {
    set_gpu_of_thread(fmt::format("GPU {}", index));
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
    const cudaDeviceProp properties = properties_of(static_cast<std::uint32_t>(index));
    name_ = fmt::format("{} ({})", properties.name, pci_address(index));
    set_gpu_of_thread(fmt::format("{} {}", name_, uuid_text(properties)));
    const MatrixInstructions fastest =
        choose_matrix_instructions({properties.major, properties.minor}, SLUICE_CUDA_ARCHITECTURES, name_);
    const auto most_shared_bytes = static_cast<std::uint32_t>(properties.sharedMemPerBlockOptin);
    instructions_ = options.instructions.value_or(fastest);
    block_shared_bytes_ = options.block_shared_bytes.value_or(most_shared_bytes);
    expects(instructions_ <= fastest && block_shared_bytes_ <= most_shared_bytes,
            "a CUDA device that is to have more than its GPU");
    clock_ = std::make_unique<CudaClock>();
}

std::unique_ptr<Stream> CudaDevice::make_stream(const StreamOptions& options) {
    return std::make_unique<CudaStream>(*clock_, options);
}

Buffer CudaDevice::allocate(MemorySpace space, std::size_t bytes) {
    if (bytes == 0) {
        return {};
    }
    void* memory = nullptr;
    switch (space) {
        case MemorySpace::device:
            check_memory(cudaMalloc(&memory, bytes), space, bytes);
            check_cuda(cudaMemset(memory, 0, bytes), "cudaMemset");
            // Streams that do not wait for the default one could write to the memory before it is filled.
            check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
            return {{static_cast<std::byte*>(memory), bytes}, space, nullptr, free_device};
        case MemorySpace::pinned:
            // Touched here first, by the thread that drives the GPU: its NUMA node's memory.
            check_memory(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), space, bytes);
            std::memset(memory, 0, bytes);
            return {{static_cast<std::byte*>(memory), bytes}, space, nullptr, free_pinned};
        case MemorySpace::host:
            break;
    }
    throw ContractViolation("a CUDA device allocates device and pinned memory");
}

std::optional<MemoryInfo> CudaDevice::memory() const {
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
    return MemoryInfo{.free_bytes = free_bytes, .all_bytes = all_bytes};
}

void CudaDevice::check_memory(cudaError_t status, MemorySpace space, std::size_t bytes) const {
    if (status != cudaErrorMemoryAllocation) {
        check_cuda(status, space == MemorySpace::device ? "cudaMalloc" : "cudaHostAlloc");
        return;
    }
    static_cast<void>(cudaGetLastError());
    const MemoryInfo left = memory().value();
    throw Error(ExitCode::out_of_memory,
                {.id = "E-GPU-066",
                 .where = name_,
                 .what = space == MemorySpace::device
                             ? fmt::format("cannot allocate {} bytes of device memory, of which {} of {} are free",
                                           bytes, left.free_bytes, left.all_bytes)
                             : fmt::format("cannot allocate {} bytes of pinned host memory", bytes),
                 .hint = "lower pipeline.depth or pipeline.chunk_items"});
}

MatrixInstructions instructions_of_gpu(int device) {
    int major = 0;
    int minor = 0;
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
    check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
    return choose_matrix_instructions({major, minor}, SLUICE_CUDA_ARCHITECTURES, fmt::format("GPU {}", device));
}

MatrixInstructions instructions_of_current_gpu() {
    int device = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    return instructions_of_gpu(device);
}

CudaDevice& as_cuda(Device& device) {
    auto* const cuda = dynamic_cast<CudaDevice*>(&device);
    expects(cuda != nullptr, "a CUDA layer was given another device");
    return *cuda;
}

bool built_with_cuda() noexcept {
    return true;
}

std::uint32_t cuda_device_count() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return 0;
    }
    return static_cast<std::uint32_t>(count);
}

std::vector<CudaGpu> cuda_gpus() {
    std::vector<CudaGpu> gpus;
    for (std::uint32_t i = 0; i < cuda_device_count(); ++i) {
        const int index = static_cast<int>(i);
        const cudaDeviceProp properties = properties_of(i);
        int node = -1;
        check_cuda(cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, index), "cudaDeviceGetAttribute");
        gpus.push_back({.uuid = uuid_text(properties), .pci = bus_id(index), .name = properties.name});
        if (node >= 0) {
            gpus.back().host_numa_node = static_cast<std::uint32_t>(node);
        }
    }
    return gpus;
}

std::string cuda_device_model(std::uint32_t index) {
    return properties_of(index).name;
}

std::string cuda_device_uuid(std::uint32_t index) {
    return uuid_text(properties_of(index));
}

std::string cuda_device_kind(std::uint32_t index) {
    const MatrixInstructions instructions = instructions_of_gpu(static_cast<int>(index));
    return fmt::format("{}, {}", cuda_device_model(index),
                       instructions == MatrixInstructions::wgmma ? "wgmma" : "mma.sync");
}

std::string why_no_cuda() {
    int count = 0;
    int driver = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    static_cast<void>(cudaGetLastError());
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
        return "no NVIDIA driver";
    }
    return status != cudaSuccess ? cudaGetErrorString(status) : count == 0 ? "none visible" : "";
}

bool start_cuda_contexts(std::vector<std::uint32_t> gpus, const std::function<void(std::uint32_t)>& started) {
    const std::uint32_t count = cuda_device_count();
    if (gpus.empty()) {
        gpus.resize(count);
        std::iota(gpus.begin(), gpus.end(), 0U);
    }
    return !gpus.empty() && std::ranges::all_of(gpus, [&](std::uint32_t gpu) {
        const bool starts = gpu < count && cudaSetDevice(static_cast<int>(gpu)) == cudaSuccess &&
                            cudaFree(nullptr) == cudaSuccess;  // the customary way to ask for a GPU's context
        if (starts) {
            started(gpu);
        }
        return starts;
    });
}

void check_cuda_driver() {
    int driver = 0;
    check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    if (driver == 0) {  // CUDA says of a missing driver what it says of an old one
        throw Error(ExitCode::unavailable, {.id = "E-GPU-061",
                                            .where = "run.device",
                                            .what = "got \"cuda\", but there is no NVIDIA driver here, so no GPU",
                                            .hint = "set run.device = \"host\", or request a GPU for the job"});
    }
    int runtime = 0;
    check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    if (driver / 1000 < runtime / 1000) {  // within a major version they work together
        throw Error(ExitCode::unavailable,
                    {.id = "E-GPU-063",
                     .where = "run.device",
                     .what = fmt::format("got a driver for CUDA {}.{}, but this build needs one for CUDA {}",
                                         driver / 1000, driver % 1000 / 10, runtime / 1000),
                     .hint = "update the NVIDIA driver, or set run.device = \"host\""});
    }
}

std::unique_ptr<Device> make_cuda_device(std::uint32_t index, const CudaDeviceOptions& options) {
    check_cuda_driver();
    int count = 0;
    check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (index >= static_cast<std::uint32_t>(count)) {
        throw Error(ExitCode::configuration,
                    {.id = "E-GPU-062",
                     .where = "run.devices",
                     .what = fmt::format("GPU {} was requested, but this rank sees {}", index, count),
                     .hint = "lower run.devices or the ranks per node"});
    }
    return std::make_unique<CudaDevice>(static_cast<int>(index), options);
}

}  // namespace sluice
