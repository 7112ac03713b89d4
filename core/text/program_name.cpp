#include "core/text/program_name.hpp"

#include "core/text/escape.hpp"

namespace sluice {
namespace {

std::string& name_of_process() {
    static std::string name = "sluice";
    return name;
}

}  // namespace

const std::string& program_name() noexcept {
    return name_of_process();
}

void name_program(std::string_view argv0) {
    const std::string_view name = argv0.substr(argv0.rfind('/') + 1);
    name_of_process() = name.empty() ? "sluice" : escaped(name);
}

}  // namespace sluice
