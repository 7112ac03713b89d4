#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace sluice {

/// Non-owning reference to a callable, for parameters; does not allocate, unlike std::function.
template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
    /// `callable` must outlive this object, as a temporary in the same call does.
    template <class Callable, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>>>
    FunctionRef(Callable&& callable) noexcept  // NOLINT(google-explicit-constructor): it is meant to take lambdas
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
          call_([](void* object, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Arguments>(arguments)...);
          }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace sluice
