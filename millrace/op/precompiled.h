// What nearly every source of the rooms includes anyway, compiled once
// (tools/cmake/precompiled.cmake). No source may count on it: the builds that check includes do
// without.
#pragma once

#include "millrace/base/cancellation.h"  // IWYU pragma: keep
#include "millrace/base/done.h"          // IWYU pragma: keep
#include "millrace/base/result.h"        // IWYU pragma: keep
#include "millrace/base/str_cat.h"       // IWYU pragma: keep
#include "millrace/op/infer.h"           // IWYU pragma: keep
#include "millrace/op/kernel.h"          // IWYU pragma: keep
#include "millrace/op/registry.h"        // IWYU pragma: keep
#include "millrace/tensor/tensor.h"      // IWYU pragma: keep
