#include "tests/layers/include_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <regex>
#include <span>
#include <stdexcept>

namespace sluice {
namespace {

/// A layer, and the folders that its files may include from.
struct Layer {
    std::string_view folder;
    std::vector<std::string_view> below;
};

const std::array layers{
    Layer{"core", {"core"}},
    Layer{"scheduler", {"core", "scheduler"}},
    Layer{"comm", {"core", "comm"}},
    Layer{"kernels", {"core", "kernels"}},
    Layer{"slurm", {"core", "slurm"}},
    Layer{"apps", {"core", "kernels", "apps"}},
    Layer{"tools", {"core", "scheduler", "comm", "kernels", "slurm", "apps", "tools"}},
    Layer{"tests", {"core", "scheduler", "comm", "kernels", "slurm", "apps", "tools", "tests"}},
};

/// Rooms of a folder, each of which may include itself and those before it. The folder's own files are the room "".
struct Rooms {
    std::string_view folder;
    std::vector<std::string_view> order;
};

const std::array rooms{
    Rooms{"core",
          {"text", "system", "", "files", "process", "sync", "trace", "device", "machine", "config", "input", "weights",
           "output", "commit"}},
    Rooms{"kernels/cuda", {"primitives", "", "gemm", "ordered", "classifier", "certifier", "decoder", "generator"}},
    Rooms{"kernels/cuda/decoder", {"plan", "rows", "choice", "product", "attention", "prompts", ""}},
    Rooms{"tools", {"doctor", "runtime", "bench", "cli", "torture", ""}},
};

/// An outside package, by how its headers begin, and the files that may include it, by how their paths begin.
struct Package {
    std::string_view header;
    std::vector<std::string_view> users;
};

const std::vector<std::string_view> cuda_users{"core/device/cuda_", "kernels/cuda/", "tests/kernels/cuda/",
                                               "tests/e2e/cuda_", "tools/bench/"};

const std::array packages{
    Package{"mpi.h", {"comm/", "tests/comm/"}},
    Package{"mpi-ext.h", {"comm/"}},
    Package{"hwloc", {"core/machine/topology_hwloc.cpp"}},
    Package{"toml++/", {"core/config/"}},
    Package{"boost/program_options", {"tools/"}},
    Package{"boost/", {}},
    Package{"cuda", cuda_users},
    Package{"cublas", cuda_users},
    Package{"cudnn", cuda_users},
    Package{"nvtx3/", cuda_users},
    Package{"dnnl", {"kernels/host/", "tools/bench/"}},
    Package{"oneapi/", {"kernels/host/", "tools/bench/"}},
    Package{"omp.h", {"kernels/host/", "tools/bench/"}},
    Package{"cblas.h", {"kernels/host/", "tools/bench/"}},
    Package{"slurm/", {"slurm/"}},
    Package{"pmix", {"slurm/"}},
    Package{"gtest/", {"tests/"}},
    Package{"gmock/", {"tests/"}},
    Package{"benchmark/", {"tools/bench/"}},
};

/// A folder that is one backend's own: the others meet it through kernels/kernels.hpp.
const std::array backends{
    Package{"kernels/host/",
            {"kernels/host/", "kernels/kernels.cpp", "tests/kernels/", "tests/support/host_precisions.hpp",
             "tools/bench/"}},
    Package{"kernels/cuda/", {"kernels/cuda/", "kernels/kernels.cpp", "tests/kernels/", "tools/bench/"}},
};

std::string_view folder_of(std::string_view path) {
    return path.substr(0, path.find('/'));
}

/// Of a file in `folder` or under it: "input" of "core/input/framing.hpp" in "core", "" of "core/event.hpp".
std::string_view room_of(std::string_view path, std::string_view folder) {
    path.remove_prefix(folder.size() + 1);
    const std::size_t slash = path.find('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool lies_in(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

/// What is wrong with an include from one room of a folder into another one.
std::string problem_between_rooms(const Include& include) {
    for (const Rooms& of : rooms) {
        if (!lies_in(include.file, of.folder) || !lies_in(include.target, of.folder)) {
            continue;
        }
        const auto place = [&](std::string_view path) { return std::ranges::find(of.order, room_of(path, of.folder)); };
        if (place(include.file) == of.order.end()) {
            return fmt::format("lies in a room that {} does not have", of.folder);
        }
        if (place(include.target) > place(include.file)) {
            return fmt::format("includes \"{}\", but {}/{} comes before it: a room includes only rooms before it",
                               include.target, of.folder, room_of(include.file, of.folder));
        }
    }
    return {};
}

template <class Range>
auto find_folder(Range& range, std::string_view folder) {
    return std::find_if(range.begin(), range.end(), [&](const Layer& layer) { return layer.folder == folder; });
}

bool may_use(const Include& include, const Package& package) {
    return std::any_of(package.users.begin(), package.users.end(),
                       [&](std::string_view user) { return include.file.starts_with(user); });
}

std::string problem_inside(const Include& include, const std::function<bool(const std::string&)>& exists) {
    const auto layer = find_folder(layers, folder_of(include.file));
    if (layer == layers.end()) {
        return "lies in a folder that is no layer";
    }
    if (!exists(include.target)) {
        return fmt::format("includes \"{}\", expected a file of the project, named from its root", include.target);
    }
    for (const Package& backend : backends) {
        if (include.target.starts_with(backend.header) && !may_use(include, backend)) {
            return fmt::format("includes \"{}\", which belongs to {}", include.target, fmt::join(backend.users, ", "));
        }
    }
    const std::string_view from = folder_of(include.target);
    if (std::find(layer->below.begin(), layer->below.end(), from) == layer->below.end()) {
        return fmt::format("includes \"{}\", but {} may include {} only", include.target, layer->folder,
                           fmt::join(layer->below, ", "));
    }
    return problem_between_rooms(include);
}

std::string problem_outside(const Include& include) {
    const auto package = std::find_if(packages.begin(), packages.end(),
                                      [&](const Package& p) { return include.target.starts_with(p.header); });
    if (package == packages.end() || may_use(include, *package)) {
        return {};  // or the standard library, the system, and packages that every layer may use
    }
    return fmt::format("includes <{}>, which belongs to {}", include.target,
                       package->users.empty() ? "no file" : fmt::format("{}", fmt::join(package->users, ", ")));
}

}  // namespace

std::vector<Include> includes_of(const std::string& file, std::string_view text) {
    static const std::regex pattern(R"re(^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"])re");
    std::vector<Include> found;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::string_view one = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), one.size() + 1));
        std::match_results<std::string_view::const_iterator> match;
        if (one.find("include") != std::string_view::npos &&
            std::regex_search(one.begin(), one.end(), match, pattern)) {
            found.push_back({.file = file, .line = line, .target = match[2], .outside = match[1] == "<"});
        }
    }
    return found;
}

std::string violation_of(const Include& include, const std::function<bool(const std::string&)>& exists) {
    const std::string problem = include.outside ? problem_outside(include) : problem_inside(include, exists);
    return problem.empty() ? problem : fmt::format("{}:{}: {}", include.file, include.line, problem);
}

std::vector<std::string> sources_under(const std::filesystem::path& root) {
    static constexpr std::array<std::string_view, 5> endings{".cpp", ".hpp", ".cu", ".cuh", ".h"};
    std::vector<std::string> sources;
    for (const Layer& layer : layers) {
        if (!std::filesystem::exists(root / layer.folder)) {
            continue;
        }
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root / layer.folder)) {
            const std::string ending = entry.path().extension().string();
            if (entry.is_regular_file() && std::find(endings.begin(), endings.end(), ending) != endings.end()) {
                sources.push_back(std::filesystem::relative(entry.path(), root).string());
            }
        }
    }
    std::sort(sources.begin(), sources.end());
    return sources;
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        throw std::runtime_error("cannot open " + file.string());
    }
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace sluice
