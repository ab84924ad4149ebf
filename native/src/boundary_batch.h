// The handle of a batch, for those parts of the boundary that work on one.
#pragma once

#include "batch/batch.h"
#include "mario_native.h"

struct mario_batch {
    mario::batch::Batch batch;
};
