#pragma once

#include "core/app.hpp"

namespace sluice::namegen {

/// Generates names byte by byte with a recurrent network (docs/namegen.md).
[[nodiscard]] const App& namegen_app();

}  // namespace sluice::namegen
