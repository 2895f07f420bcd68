#pragma once
// Nothing of this header is needed: see ../../README.md.
