#pragma once
// This header may be empty: see ../README.md.
