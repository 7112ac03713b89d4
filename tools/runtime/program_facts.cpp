#include "tools/runtime/program_facts.hpp"

namespace sluice {

const ProgramFacts& program_facts() noexcept {
    static constexpr ProgramFacts facts{.version = SLUICE_VERSION,
                                        .commit = SLUICE_COMMIT,
                                        .compiler = SLUICE_COMPILER,
                                        .build = SLUICE_BUILD,
                                        .cuda = SLUICE_CUDA_VERSION};
    return facts;
}

}  // namespace sluice
