/* The arm's model and its control step, each in a file of its own. `p` are the parameters of the model. */

#ifndef MODEL_H
#define MODEL_H

void model_gravity(const double* q, const double* p, double* result);
void model_inverse(const double* q, const double* qd, const double* qdd, const double* p, double* result);
void model_forward(const double* q, const double* qd, const double* tau, const double* p, double* result);
void model_mass_matrix(const double* q, const double* p, double* result);

/* Pose (4, 4) and Jacobian (6, N), row by row, of the tool, and of the link that feels the wrench from outside. */
void model_tool(const double* q, double* pose, double* jacobian);
void model_contact_link(const double* q, double* pose, double* jacobian);

/* Pose (4, 4) of every link, in the order of `core_frames`. */
void model_links(const double* q, double* poses);

/* How many numbers depend on the settings of the step alone, and what works them out, once for as long as they stay. */
extern const int step_constants;
void step_prepare(const double* settings, double* constants);

/* x: addresses of times (t, dt), q, qd, reference (q, qd, qdd, effort), memory, memory of the law, settings, and of the
   results: rows, flags, both memories afterwards, a check. */
void step_run(double* const* x, const double* constants);

/* What acts from outside: the contact observer, of the arrays DT … EXTERNAL of loop.c; there if ARM_OBSERVES. */
extern const int contact_constants;
void contact_prepare(const double* numbers, double* constants);
void contact_run(double* const* x, const double* constants);

#endif
