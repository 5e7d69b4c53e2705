// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Streams for the tool, with an arm that is where its reference is: a trial of tool_streams.py, compiled with the core. */

/* Messages come at `times`, with `stamps`, and are of `kinds` (CORE_POSE or CORE_TWIST). Writes the joints' positions of every
   period (periods, N), and what the tool did then. Returns the delay at the end [s]. */
double tool_trial(Core* c, CoreSettings* settings, const double* q, int64_t messages, const double* times, const double* stamps,
                  const int64_t* kinds, const double* numbers, int64_t periods, double dt, double* positions,
                  int64_t* states) {
  State* m = &c->state;
  int64_t next = 0;
  c->settings = settings;
  m->active = 0; m->tool.delay = 0;
  start(m, 0, q);
  for (int64_t k = 0; k < periods; ++k) {
    for (; next < messages && times[next] <= m->time; ++next)
      core_tool(c, (int)kinds[next], m->time, stamps[next], numbers + 12 * next);
    m->time = (double)(k + 1) * dt;
    if (m->references.source == TOOL) advance_tool(&settings->loop, m, m->time);
    copy(positions + k * N, m->references.source == TOOL ? m->tool.q : m->references.hold_q);
    states[k] = m->tool.state;
  }
  return m->tool.delay;
}
