// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The memory of the loop. Numbers are doubles or int64_t and pointers, so that the structs have no gaps: Python reads
   this file (engine/c_interface.py) and has them as records of NumPy. Arrays have N numbers, one for each joint. */

#ifndef MEMORY_H
#define MEMORY_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "kinds.h"

#define N CORE_JOINTS
#define EACH for (int i = 0; i < N; ++i)

enum { FINAL_COMMAND = -2, NO_FAULT = -1 };                /* instead of a kind of faults (kinds.h) */
enum { WAITING, HELD, TRAJECTORY, STOPPING, STREAM, TOOL }; /* source of the reference */
enum { TOOL_FOLLOWS, TOOL_STANDS, TOOL_DETOUR };          /* state of a tool that follows a stream */
enum { REFERENCES = 4 };                                  /* q, qd, qdd, effort */
enum { RECURRENCES = 10, DEGREES = 6, TRAIL = 32, OUTCOMES = 8, MOTIONS = 8 };

/* Arrays of the control step, in the order of `step_program` in compiled_step.py. */
enum { TIMES, STATE, REFERENCE = STATE + 2, MEMORY = REFERENCE + 4, LAW_MEMORY, SETTINGS, RESULTS, FLAGS, AFTER, LAW_AFTER };
enum { EFFORT, SATURATED, RATE_LIMITED, GRAVITY, ERROR, TERMS, ROWS = TERMS + 7 }; /* rows of its first result */

/* Arrays of the contact observer, in the order of its program in momentum_observer.py. */
enum { DT, OBSERVED_Q, OBSERVED_QD, APPLIED, BIAS, OBSERVED, NUMBERS, OBSERVED_AFTER, EXTERNAL, WRENCH = N, ENERGY = N + 6 };

/* Numbers that Python reads here, too (core_library.py). */
#define NEVER -1e300 /* a time before all others [s]; not infinite, so that a difference of two is a number */
#define EFFORT_ROUNDING 1e-9 /* greatest rounding error of an effort, relative to its magnitude plus 1 N or 1 N·m */
#define INSTANT 1e-12 /* least time between two commands [s]: an infinite rate times no time would be no number */
#define HELD_RISE 0.2 /* longest time in which an effort may rise from zero to that which holds a joint [s] */
#define HELD_START 1.0 /* acceleration that has to be possible within that time [rad/s²] or [m/s²] */
#define FARTHEST 1e6 /* greatest position of a reference if the joint has no limit [rad] or [m]: the resolution of a
                        double is worse than 1e-10 for greater ones */

typedef void Run(double* const*, const double*);
typedef void Judge(void);
typedef void Function1(const double*, const double*, double*);
typedef void Function2(const double*, const double*, double*, double*);
typedef void Function3(const double*, const double*, const double*, const double*, double*);

/* StepMemory of step.py. */
typedef struct {
  double integral[N], requested[N], sent[N], added[N], cut[N], blend_from[N];
  double has_requested, is_sending, sent_at, blending, blend_begin, blend_time, lagging;
} StepMemory;

/* A trajectory of some joints, spliced to a given motion of all joints. */
typedef struct {
  int64_t points, degree, columns, splice_degree;
  int64_t segment; /* the segment whose coefficients are in the cache; -1 for none */
  double then, splice_begin, duration; /* the splice lasts from splice_begin to the point at the time then [s] */
  double still[N], goal[N], turn[N];   /* positions of joints that stay; final positions; whole turns to add [rad] */
  int64_t column[N];
  double splice[DEGREES * N];         /* Bernstein coefficients to the next point (degree + 1, N) */
  double cache[DEGREES * 3 * N];      /* power coefficients of a segment */
  double splice_cache[DEGREES * 3 * N];
  const double *times, *bernstein; /* (points,), (degree + 1, points - 1, columns) */
  const double *first, *last;      /* positions (columns,) */
  const double *efforts;           /* planned efforts, (points, columns); 0 if there are none */
} Motion;

/* The path time of a trajectory under speed scaling: at t it is s, and its rate changes from `speed` to `target`. */
typedef struct {
  int64_t is_scaled; /* 0 at full speed: the other members are not used */
  double t, s, speed, target;
} PathTime;

/* Verdicts on a state (consistency.c). */
enum { TRUSTED, DROPPED, BLIND, FAULTY };
enum { UNDECIDED, TRUST_POSITIONS, TRUST_VELOCITIES, TRUST_NONE }; /* trusted part of a contradicting state */
enum { STOPPED_ALONE = 1, STOPPED_TOGETHER };              /* a sudden stop of a joint: alone, or of several in one state */
/* causes that bound a residual */
enum { BY_POSITION_NOISE, BY_VELOCITY_NOISE, BY_DELAY, BY_FRICTION, BY_MASSES, BY_PAYLOAD, BY_PUSH };
enum { PROBLEM_KINDS = 32 }; /* number of a problem: its kind + PROBLEM_KINDS * the cause of its bound */

/* Stated uncertainty of states and efforts. For a prismatic joint a value in [rad] counts as a tenth of it in [m]. */
typedef struct {
  double position_noise;   /* standard deviation of a position, its resolution / √12 included [rad] */
  double velocity_noise;   /* least standard deviation of a velocity [rad/s]; a greater measured one replaces it */
  double velocity_delay;   /* greatest lag of velocities behind positions, and of efforts behind commands [s] */
  double model_error;      /* relative error of each body's mass */
  double unknown_payload;  /* mass at the tool that the model does not have [kg] */
  double push_force;       /* greatest force of a push at the tool [N] */
  double drop_time;        /* time for which contradicting states are dropped [s] */
  double silence;          /* time without states after which the tests restart [s] */
  double velocity_limit[N], lower[N], upper[N]; /* [rad/s] or [m/s], [rad] or [m] */
  double unknown_friction[N];                   /* friction that the model does not have [N·m] or [N] */
  double coulomb[N], viscous[N]; /* known friction, or that of the URDF [N·m] or [N], [N·m·s/rad] or [N·s/m] */
  double model_coulomb[N], model_viscous[N]; /* the friction that `inverse` includes, likewise */
  double scale[N];               /* 1 of a revolute joint, 0.1 of a prismatic one */
} Uncertainty;

/* The memory of the consistency tests. */
typedef struct {
  /* results */
  int64_t verdict, problem, joint, setting, dropped; /* dropped: number of dropped states */
  double value, bound;   /* of positions [rad] or [m]; of efforts [N·m] or [N] */
  double unexplained[N]; /* greatest effort beyond the model's that each joint may get [N·m] or [N] */
  double at, q[N], v[N]; /* time, position and velocity of the latest valid state */
  /* states */
  int64_t known, contradicts, effort_known, model_known;
  double last_t, last_q[N], last_v[N]; /* the latest state, its velocity with a limited change */
  double reported[2 * N], noise[N];    /* the two latest reported velocities; measured variance of a velocity */
  double position_sum[2 * N];          /* O for a lag of 0, and for the greatest lag */
  int64_t unverified;                  /* 1 if states are used only after they have been consistent for drop_time */
  double contradicted_t, begun;        /* times of the first contradicting state, and of the first state [s] */
  /* efforts, since the interval began */
  double begin_t, begin_q[N], begin_v[N];
  double impulse[N], effort[N], effort_change[N]; /* ∫ τ dt, the latest τ, and ∫ |dτ| */
  double momentum[N];                             /* S */
  int64_t faulty;                                 /* problem found in it */
  double commanded[N], realized[N]; /* mean effort of the latest interval: commanded, and by the motion [N·m] or [N] */
  double realized_t;                /* end of that interval [s] */
  double residual[N]; /* mean effort less the model's, friction included [N·m] or [N] */
  double mass[N * N], inverse_mass[N * N], bias[N], acceleration_error[N]; /* M; M⁻¹; C q̇ + g; error of accelerations */
  /* joints at rest */
  double standing_q[N], undetected_speed[N]; /* position at rest, and w */
  double motion_residual[N], travel[N]; /* residual of the latest motion; distance of all joints since then */
  /* velocity jumps that the positions have not confirmed yet, and the distance that they have led to since */
  double velocity_jump[N], jump_distance[N]; /* [rad/s] or [m/s], [rad] or [m] */
  int64_t unconfirmed, confirmed; /* 1 if there is such a jump; 1 if this state confirmed one */
  int64_t sudden_stop[N], any_sudden_stop; /* how the velocity jumped to zero; 1 if one did and rest is not confirmed */
  double stop_q[N], stop_t[N], stop_v[N]; /* position and time of that stop; velocity before it, of several in one state */
  double least_speed[N]; /* speed that positions prove in the latest interval, despite noise [rad/s] or [m/s] */
} Consistency;

/* The settings of the loop. Their owner does not change them while the loop uses them. */
typedef struct {
  Run* step_run; /* the control step, compiled or called back */
  Function1 *gravity, *mass_matrix;
  Function3 *inverse, *forward;
  Function2* tool; /* pose of the tool (4, 4), and its Jacobian (6, N); 0 if there is no tool */
  Function3* sensitivity; /* of efforts to errors of the model (dynamics/sensitivity.py); 0 without compiled code */
  Judge* judge; /* checks the rate of the states at once; 0 if the caller does it later */
  double** step_arrays;
  Run* observer_run; /* 0 without a contact observer */
  double** observer_arrays;
  const double *step_constants, *model, *sensitivity_model, *observer_constants;
  double tool_model[3]; /* parameters of `tool` */
  int64_t tool_directions;
  double tool_axes[36]; /* weighted directions in which the tool can move, rows (6) */
  double tool_floor;    /* least singular value on a path */
  double stream_speed[2], stream_acceleration[2]; /* of translation and rotation */
  int64_t law_memory_width, follows, estimates_velocity, plausibility, externally_supported;
  int64_t allow_nonzero_velocity_at_trajectory_end;
  int64_t circular[N], reactions[KINDS], latches[KINDS], judges_contact;
  double max_duration[KINDS]; /* [s] */
  double state_timeout, velocity_filter, stream_timeout, reference_jump;
  double settled_time, blend_time, cmd_timeout, speed_scaling;
  double velocity_limit[N], greatest_speed[N], tolerance[N], effort_limit[N], rate_limit[N], lower[N], upper[N];
  /* limits of the URDF, INFINITY if it has none [rad/s²], [rad/s³] or [m/s²], [m/s³] */
  double acceleration[N], braking[N], jerk[N];
  double deceleration[N]; /* of a motion that is stopped by core_hold [rad/s²] or [m/s²] */
  double sent_ratio[N];   /* ratio of the gravity effort that is sent; the drives add the rest */
  double stiffness[N], damping[N];         /* of reactions [N·m/rad], [N·m·s/rad] or [N/m], [N·s/m] */
  double law_stiffness[N], law_damping[N]; /* of the law, likewise */
  double touch[N], collision[N], touch_wrench[2], collision_wrench[2], energy;
  Uncertainty uncertainty;
} Settings;

/* The reference and its source. */
typedef struct {
  int64_t source, requests; /* requests: number of changes of the goal */
  double end, start, hold_time, hold_q[N];
  Motion* motion;
  PathTime time;
  CoreTrajectory* next; /* the trajectory that begins at its start time; 0 if there is none */
  int64_t dropped; /* number of trajectories that the limits did not let begin, and why the latest did not */
  CoreRefusal refused;
  double speed, asked_speed; /* speed ratio of trajectories; the requested one, a factor on the setting */
  /* the reference limiter, for a stream that jumps */
  int64_t is_limited[N];
  double limiter_t, target[REFERENCES * N], target_time; /* of a stream: its latest message */
  double target_velocity[N], arrived[N], present[REFERENCES * N];
  /* the goal whose outcome is monitored: 0 none, 1 that of the present or last trajectory, 2 that of the next */
  int64_t judged, goal_id, outcome, outcomes[OUTCOMES], outcome_ids[OUTCOMES];
  double goal_end;
  CoreTolerances allowed;
  int64_t violations; /* number of trajectories that were aborted for a tolerance; the latest one, and its violation */
  int64_t violated_id;
  CoreRefusal violation; /* CORE_PATH_ERROR to CORE_GOAL_SPEED */
} References;

typedef struct {
  double position[3], rotation[9]; /* in the root link's frame, row by row */
} ToolPose;

/* The stream to the tool. */
typedef struct {
  int64_t follows, state; /* CORE_POSE or CORE_TWIST; TOOL_FOLLOWS, TOOL_STANDS or TOOL_DETOUR */
  double t, received, received_wrench; /* times of the reference, and of the latest messages [s] */
  double q[N], qd[N], posture[N], velocity[6], acceleration[6]; /* of the reference, and of its tool */
  double away[2]; /* distance from the target [m], [rad] */
  ToolPose pose;
  double twist[6], wrench[6], target_wrench[6];
  /* the latest poses and their stamps, newest first, and the curve of the target to the newest one */
  int64_t knots, measured; /* measured: number of messages that period and delay are averages of */
  ToolPose knot[4];
  double stamp[4], period;
  double late, deviation, delay; /* mean delay of messages, its deviation; delay of the target [s] */
  double begin, duration, curve[36];
  /* a target that the tool does not reach on its path, and the search for a detour */
  ToolPose stood_target, detour_target;
  double stood, rested, guess[N]; /* time for which the tool has stood, and its target has rested [s] */
  int64_t seeds, tries;
} Tool;

typedef struct {
  StepMemory memory;
  References references;
  Tool tool;
  double time; /* of the latest reference [s] */
  /* the loop */
  int64_t restarts, clock_reset, conflict, gravity_known, to_judge;
  double q[N], qd[N], most_error[N], gravity_last[N], state_age; /* most_error: greatest tracking error */
  int64_t stepped; /* 1 if there is a latest control step, and its state and reference */
  double stepped_q[N], stepped_qd[N], stepped_reference[REFERENCES * N], stepped_planned[N];
  /* states */
  double last_q[N];
  int64_t clock, newest; /* simulated time: of the clock, and the newest of it and of the stamps [ns] */
  int64_t good, refused;
  double estimate_t, estimate_q[N], estimate_v[N];
  double good_t, good_ahead, refused_t, refused_ahead, refused_since;
  /* their rate */
  int64_t count;
  double period, delay, carried, judged_period, judged_delay;
  double command_delay; /* until an effort is applied [s] */
  double stable_until; /* greatest sum of period and delays at which the gains are known to be stable, with a margin [s] */
  double growth;       /* logarithm of the factor by which gaps have amplified a deviation [-] */
  double allowed;      /* greatest sum of period and delay at which the gains were allowed, in this pose or another [s] */
  /* swings of velocity errors beyond noise: greatest errors of the present one, of the one before it, and of the first
     one of those that grow [rad/s] or [m/s]; begin of the present one, and duration of the one before [s]; position error
     at the begin of the present one, and its change along those that grow [rad] or [m] */
  double swing[N], swing_before[N], swing_first[N], swing_begin[N], swing_time[N], swing_q[N], swing_distance[N];
  int64_t swing_steps; /* 1 if these are errors of a law, 0 if they are velocities under a reaction */
  double found_delay; /* delay of the commands that an unstable feedback has shown [s] */
  int64_t unstable;    /* from when growth or shaking has shown it until the states allow the gains again */
  double sampling_last, sampling_age, before; /* time and age of the latest state, and the period before it, 0 if there is none [s] */
  double mean, longest, oldest; /* mean period; recent greatest period, and greatest age [s] */
  double judged_q[N]; /* where the gains were checked; NAN if they have to be checked */
  double carried_stiffness[N], carried_damping[N];
  Consistency consistency;
  /* contact */
  int64_t given_contact, applies; /* contact found outside the core: 1 + its kind counted from FAULT_COLLISION, or 0 */
  double applied[N], bias[N], observed[3 * N], external[N + 8];
  /* faults */
  int64_t trail_count, trail_last;
  double trail_time, trail[TRAIL * N]; /* positions on the path, a ring */
  int64_t faults, active, active_kind, phase, present, latched, blind, carries; /* faults: number of faults so far */
  double active_begin, until, found[N];
  double stood_since, stood_q[N]; /* since when and where the arm stands */
  double recent_speed[N], stepped_t; /* recent speed; time of the latest control step */
  int64_t predicts; /* 1 if the arm moves in the prediction by the model; 0 if it stands */
  double predicted_since, predicted_t, velocity_known_t; /* times of the state that the prediction starts from, of its
                                                            latest step, and of the latest known velocity [s] */
  double predicted_q[N], predicted_v[N];
  /* the gravity effort: possible error of the model, observed error, correction [N·m] or [N] */
  double gravity_error[N], model_residual[N], gravity_correction[N];
  double dry_friction[N], disturbance[N]; /* observed effort: dry friction, and the rest, which may drive a joint */
  double model_q[N], model_v[N]; /* prediction by the model alone, from the latest valid state */
  double valid_noise[N]; /* noise of the velocities before states contradicted [rad/s] or [m/s] */
  double slow_until[N]; /* time until which a joint of an arm that stood was slow, or its states contradicted [s] */
  double divergence[N]; /* change of the trusted velocities that efforts do not explain [rad/s] or [m/s] */
  int64_t trusted_source; /* trusted part of contradicting states */
  double difference_t, difference_q[N], difference_v[N]; /* their velocity by differences of positions */
  double estimated_v[N]; /* velocity that the reaction uses */
  /* without valid states: times of the first and of the latest command, longest time between two commands [s] */
  double blind_begin, blind_t, longest_hold;
  double overspeed[N]; /* sum of what velocities exceed their limit and noise by [rad/s] or [m/s] */
  double obeyed_speed[N], accelerates_since; /* greatest speeds so far of joints that obey; since when one disobeys [s] */
  double earlier_t, earlier_speed[N]; /* time and speeds with which speeds are compared */
  int64_t slower[N];                  /* 1 for a joint that had become slower at the latest comparison */
  int64_t released, disobeys[N]; /* 1 once the joints that disobey got no more effort; which these are */
  int64_t is_suspect, suspect_joint, suspect_problem; /* 1 if a joint stood although it was driven */
  double suspect_q, suspect_value, suspect_bound; /* its position; measured value and bound */
  int64_t history_latched[KINDS], begins_count[KINDS];
  double seen[KINDS], reacted[KINDS], spent[KINDS];
  /* the problem, for its message: the joint, the measured value and its bound */
  int64_t problem, problem_joint;
  double problem_value, problem_bound;
  double* begins; /* times at which recent faults began (KINDS, RECURRENCES) [s] */
} State;

/* A period: its inputs and outputs. */
typedef struct {
  double t, now, age;
  int64_t has_velocity, kind; /* kind of the fault to which the loop reacts, NO_FAULT or FINAL_COMMAND */
  double q[N], qd[N], reference[REFERENCES * N], rows[ROWS * N], external[N + 8];
} Period;

/* Requests to the loop between two periods: functions of core.h. */
enum {
  APPLY, START, STOP, TRACK, MOVE_TOOL, STAND_STILL, FOLLOW, RETURNED, SCALE_SPEED, EXPECTED, HOLD_STILL, TARE,
  SET_CONTACT, SET_CONFLICT, FINAL_STEP, SET_CARRIED, SNAPSHOT
};

/* One of these calls, with its arguments and its result. */
typedef struct {
  int64_t what, number, outcome;   /* outcome: reason of a refusal, or the result of the call */
  int64_t joint;                   /* of a refusal */
  double value, limit;             /* likewise */
  double t;                        /* [s] */
  void* object;
  const double* numbers[REFERENCES];
  const int64_t* joints;
  double* result;
} Request;

struct CoreSettings {
  Settings loop;
};

struct CoreTrajectory {
  Motion motion;
  double start, speed_limit[N]; /* when its time is 0 [s]; velocity limits with which it was checked */
  double* rows[3];              /* positions, velocities, accelerations (points, columns); 0 if not given */
  double numbers[];
};

struct Core {
  State state;
  Period period;
  CoreSettings* settings;
  CoreTrajectory* held[MOTIONS]; /* trajectories that may be in use */
  CoreTrajectory* stops[2]; /* memory of the latest stopping motion, and of the one before */
  int stop;
  double begins[KINDS * RECURRENCES]; /* times at which recent faults began (KINDS, RECURRENCES) [s] */
};

enum { WHOLE = REFERENCES * N }; /* numbers of a reference */

static inline double greater(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static inline void copy(double* to, const double* from) { memcpy(to, from, N * sizeof *to); }
static inline void copy_whole(double* to, const double* from) { memcpy(to, from, WHOLE * sizeof *to); }
static inline void clear(double* to) { EACH to[i] = 0; }
static inline double within(double x, double bound) { return smaller(greater(x, -bound), bound); }
static inline double length3(const double* v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static inline int is_finite(const double* x) {
  EACH if (!isfinite(x[i])) return 0;
  return 1;
}

static inline void say(State* m, int problem, int joint, double value, double bound) {
  m->problem = problem; m->problem_joint = joint; m->problem_value = value; m->problem_bound = bound;
}

static inline void say_only(State* m, int problem) { say(m, problem, 0, 0, 0); }

#define ALMOST (1 - 1e-9) /* factor on a time, for rounding */

/* A position of a joint, plus or minus whole turns, so that it is nearest to a reference. */
#define TURN 6.283185307179586
static inline double near_turn(const Settings* s, int joint, double reference, double q) {
  return s->circular[joint] ? q - TURN * nearbyint((q - reference) / TURN) : q;
}

/* Functions that are shared between parts of the core; static if the core is one compilation unit. */
#ifndef CORE_SHARED
#define CORE_SHARED static
#endif
CORE_SHARED void advance_limiter(const Settings* s, References* y, double t); /* limiter.c */
CORE_SHARED void start(State* m, double t, const double* q); /* references.c */
CORE_SHARED void end_goal(References* y, int outcome);
CORE_SHARED void sample(References* y, double t, double* r);
CORE_SHARED int planned_at(const References* y, double t, double* effort);
CORE_SHARED void proceed(const Settings* s, References* y, double t, const double* q);
CORE_SHARED void wait(References* y, double dt);
CORE_SHARED int judge(References* y, double t, const double* error, const double* reference, const double* qd);
CORE_SHARED void advance_tool(const Settings* s, State* m, double t); /* tool.c */

#endif
