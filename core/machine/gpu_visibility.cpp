#include "core/machine/gpu_visibility.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "core/error.hpp"
#include "core/files/paths.hpp"
#include "core/text/parse.hpp"

namespace sluice {
namespace {

constexpr std::string_view gpu_prefix = "GPU-";
constexpr std::string_view mig_prefix = "MIG-";

VisibleGpu seen(const Gpu& gpu) {
    return {.id = gpu.uuid.empty() ? gpu.pci : gpu.uuid, .pci = gpu.pci};
}

/// An entry of the list: the GPU that it names, or why it names none.
struct Named {
    std::optional<VisibleGpu> gpu{};
    std::string why{};
};

Named by_index(const Topology& topology, std::string_view entry) {
    const auto index = parse_number<std::size_t>(entry);
    if (!index) {
        return {.why = "is neither an index nor a UUID"};
    }
    if (*index >= topology.gpus.size()) {
        return {.why = fmt::format("is not an index of this machine's {} GPUs", topology.gpus.size())};
    }
    return {.gpu = seen(topology.gpus[*index])};
}

Named by_uuid(const Topology& topology, std::string_view beginning) {
    const auto fits = [&](const Gpu& gpu) { return gpu.uuid.starts_with(beginning); };
    const auto count = std::ranges::count_if(topology.gpus, fits);
    if (count == 1) {
        return {.gpu = seen(*std::ranges::find_if(topology.gpus, fits))};
    }
    const bool unknown = std::ranges::any_of(topology.gpus, [](const Gpu& gpu) { return gpu.uuid.empty(); });
    return {.why = count > 1 ? "begins the UUIDs of several GPUs"
                   : unknown ? "is a UUID, but this topology does not record its GPUs' UUIDs"
                             : "is not the UUID of any GPU here"};
}

/// "MIG-GPU-…/3/0" names its GPU; "MIG-…" does not, so that its place is known only where there is but one GPU.
Named by_instance(const Topology& topology, std::string_view entry) {
    const std::string_view rest = entry.substr(mig_prefix.size());
    if (rest.starts_with(gpu_prefix)) {
        Named parent = by_uuid(topology, rest.substr(0, rest.find('/')));
        if (parent.gpu) {
            parent.gpu->id = entry;
        }
        return parent;
    }
    if (topology.gpus.empty()) {
        return {.why = "is an instance of a GPU, and there is none"};
    }
    return {.gpu = VisibleGpu{.id = std::string(entry),
                              .pci = topology.gpus.size() == 1 ? topology.gpus.front().pci : std::string()}};
}

Named named_by(const Topology& topology, std::string_view entry) {
    return entry.starts_with(mig_prefix)   ? by_instance(topology, entry)
           : entry.starts_with(gpu_prefix) ? by_uuid(topology, entry)
                                           : by_index(topology, entry);
}

using Fields = std::map<std::string, std::string>;

/// Lines such as "GPU UUID: \t GPU-…".
Fields read_fields(const std::filesystem::path& file) {
    constexpr std::string_view blanks = " \t";
    Fields fields;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        std::string_view value = line;
        const std::string_view name = take_until(value, ':');
        fields[std::string(trimmed(name, blanks))] = trimmed(value, blanks);
    }
    return fields;
}

/// A GPU that has not been initialised since the module was loaded has question marks in place of digits.
bool is_uuid(std::string_view text) {
    constexpr std::size_t length = std::string_view("GPU-00000000-0000-0000-0000-000000000000").size();
    return text.starts_with("GPU-") && text.size() == length && text.find('?') == std::string_view::npos;
}

bool has_instances(const std::filesystem::path& proc) {
    return std::ranges::any_of(entries_of(proc / "capabilities"), [](const std::filesystem::path& gpu) {
        return std::ranges::any_of(entries_of(gpu / "mig"), [](const std::filesystem::path& entry) {
            return entry.filename().native().starts_with("gi");
        });
    });
}

/// What a cgroup denies is no file of this process's, as it is not to CUDA.
bool may_open(const std::filesystem::path& file) {
    return ::access(file.c_str(), R_OK | W_OK) == 0;
}

std::optional<dev_t> device_at(const std::filesystem::path& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 && S_ISCHR(status.st_mode) ? std::optional(status.st_rdev) : std::nullopt;
}

/// Containers hide a GPU by mounting another device over its file. All files of the module have the same major number.
bool is_gpu(const std::filesystem::path& file, unsigned minor_number) {
    const auto device = device_at(file);
    const auto control = device_at(file.parent_path() / "nvidiactl");
    return device && control && major(*device) == major(*control) && minor(*device) == minor_number;
}

}  // namespace

std::vector<VisibleGpu> visible_gpus(std::span<const CudaGpu> gpus) {
    std::vector<VisibleGpu> visible;
    for (const CudaGpu& gpu : gpus) {
        visible.push_back({.id = gpu.uuid, .pci = normal_pci(gpu.pci)});
    }
    return visible;
}

VisibleGpus visible_gpus(const Topology& topology, const std::optional<std::string>& cuda_visible_devices) {
    VisibleGpus visible;
    if (!cuda_visible_devices) {
        std::ranges::transform(topology.gpus, std::back_inserter(visible.gpus), seen);
        return visible;
    }
    const auto note = [&](std::string_view entry, std::string_view why) {
        visible.notes.push_back(fmt::format("CUDA_VISIBLE_DEVICES: {} {}; CUDA stops there", quoted(entry), why));
    };
    std::string_view list = *cuda_visible_devices;
    while (!trimmed(list).empty()) {
        const std::string_view entry = trimmed(take_until(list, ','));
        const Named named = named_by(topology, entry);
        if (!named.gpu) {
            if (entry != "-1") {  // the usual way to end the list on purpose
                note(entry, named.why);
            }
            break;
        }
        if (std::ranges::find(visible.gpus, *named.gpu) != visible.gpus.end()) {
            note(entry, "was already named");
            break;
        }
        visible.gpus.push_back(*named.gpu);
        if (entry.starts_with(mig_prefix) && !trimmed(list).empty()) {
            note(trimmed(list), "comes after an instance, and a process sees one instance at most");
            break;
        }
    }
    return visible;
}

std::optional<std::vector<CudaGpu>> read_driver_gpus(const std::filesystem::path& proc,
                                                     const std::filesystem::path& dev) {
    const auto folders = entries_of(proc / "gpus");
    if (folders.empty() || has_instances(proc)) {
        return std::nullopt;
    }
    std::vector<CudaGpu> gpus;
    for (const auto& folder : folders) {
        Fields fields = read_fields(folder / "information");
        CudaGpu gpu{.uuid = fields["GPU UUID"], .pci = normal_pci(fields["Bus Location"]), .name = fields["Model"]};
        const auto minor_number = parse_number<unsigned>(fields["Device Minor"]);
        if (!is_uuid(gpu.uuid) || gpu.pci.empty() || !minor_number) {
            return std::nullopt;
        }
        const auto file = dev / fmt::format("nvidia{}", *minor_number);
        if (fields["GPU Excluded"] == "Yes" || !may_open(file)) {
            continue;
        }
        if (!is_gpu(file, *minor_number)) {
            return std::nullopt;
        }
        gpus.push_back(std::move(gpu));
    }
    const auto is_other_model = [&](const CudaGpu& gpu) { return gpu.name != gpus.front().name; };
    if (std::ranges::any_of(gpus, is_other_model)) {
        return std::nullopt;
    }
    std::ranges::sort(gpus, {}, &CudaGpu::pci);
    return gpus;
}

std::optional<std::vector<CudaGpu>> seen_by_cuda(std::span<const CudaGpu> all,
                                                 const std::optional<std::string>& cuda_visible_devices) {
    Topology topology;
    for (const CudaGpu& gpu : all) {
        topology.gpus.push_back({.pci = gpu.pci, .uuid = gpu.uuid, .name = gpu.name});
    }
    const VisibleGpus visible = visible_gpus(topology, cuda_visible_devices);
    if (!visible.notes.empty() || std::ranges::any_of(visible.gpus, is_instance)) {
        return std::nullopt;
    }
    std::vector<CudaGpu> seen;
    for (const VisibleGpu& gpu : visible.gpus) {
        seen.push_back(*std::ranges::find(all, gpu.id, &CudaGpu::uuid));
    }
    return seen;
}

std::optional<std::string> variable_for(std::span<const std::string> uuids, std::span<const CudaGpu> seen) {
    return uuids.size() == seen.size() ? std::nullopt : std::optional(fmt::format("{}", fmt::join(uuids, ",")));
}

std::optional<std::vector<std::uint32_t>> numbers_of(std::span<const std::string> uuids,
                                                     std::span<const CudaGpu> shown) {
    std::vector<std::uint32_t> numbers;
    for (const std::string& uuid : uuids) {
        const auto gpu = std::ranges::find(shown, uuid, &CudaGpu::uuid);
        if (gpu == shown.end()) {
            return std::nullopt;
        }
        numbers.push_back(static_cast<std::uint32_t>(gpu - shown.begin()));
    }
    return numbers;
}

}  // namespace sluice
