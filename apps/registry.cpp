#include "apps/registry.hpp"

#include "apps/classifier/classifier_app.hpp"
#include "apps/namegen/namegen_app.hpp"

namespace sluice {

const Apps& standard_apps() {
    static const Apps apps({&classifier_app(), &namegen_app()});
    return apps;
}

}  // namespace sluice
