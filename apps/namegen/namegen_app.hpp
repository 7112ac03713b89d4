#pragma once

#include "core/app.hpp"

namespace sluice {

/// Names, a byte at a time, by a recurrent network (docs/namegen.md). On the host.
[[nodiscard]] const App& namegen_app();

}  // namespace sluice
