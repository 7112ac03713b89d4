#include "apps/registry.hpp"

#include "apps/classifier/classifier_app.hpp"
#include "apps/gpt2/gpt2_app.hpp"
#include "apps/namegen/namegen_app.hpp"

namespace sluice {

const Apps& standard_apps() {
    static const Apps apps({&classifier::classifier_app(), &namegen::namegen_app(), &gpt2::gpt2_app()});
    return apps;
}

}  // namespace sluice
