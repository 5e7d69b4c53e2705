// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The memory of the loop. Numbers are doubles or int64_t and pointers, so that the structs have no gaps: Python reads this
   file (engine/c_structs.py) and has them as records of NumPy. Arrays have N numbers, one for each joint. */

#ifndef MEMORY_H
#define MEMORY_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "kinds.h"

#define N CORE_JOINTS
#define EACH for (int i = 0; i < N; ++i)

enum { FINAL_COMMAND = -2, NO_FAULT = -1 };                     /* instead of a kind of faults (kinds.h) */
enum { WAITING, HELD, TRAJECTORY, STOPPING, STREAM, TOOL }; /* what gives the reference */
enum { TOOL_FOLLOWS, TOOL_STANDS, TOOL_DETOUR };          /* what the tool does that a stream moves */
enum { REFERENCES = 4 };                                  /* q, qd, qdd, effort */
enum { RECURRENCES = 10, DEGREES = 6, LEVELS = 3, TRAIL = 32, OUTCOMES = 8, MOTIONS = 8 };

/* Arrays of the control step, in the order of `step_program` in compiled_step.py. */
enum { TIMES, STATE, REFERENCE = STATE + 2, MEMORY = REFERENCE + 4, LAW_MEMORY, SETTINGS, RESULTS, FLAGS, AFTER, LAW_AFTER };
enum { EFFORT, SATURATED, RATE_LIMITED, GRAVITY, ERROR, TERMS, ROWS = TERMS + 7 }; /* rows of its first result */

/* Arrays of the contact observer, in the order of its program in contact/momentum_observer.py. */
enum { DT, OBSERVED_Q, OBSERVED_QD, APPLIED, BIAS, OBSERVED, NUMBERS, OBSERVED_AFTER, EXTERNAL, WRENCH = N, ENERGY = N + 6 };

typedef void Run(double* const*, const double*);
typedef void Judge(void);
typedef void Function1(const double*, const double*, double*);
typedef void Function2(const double*, const double*, double*, double*);
typedef void Function3(const double*, const double*, const double*, const double*, double*);

/* StepMemory of step_numbers.py. */
typedef struct {
  double integral[N], requested[N], sent[N], added[N], cut[N], blend_from[N];
  double has_requested, is_sending, sent_at, switched_on, blending, blend_begin, blend_time, lagging;
} StepMemory;

/* A trajectory of some of the joints, spliced to a given motion of all of them. */
typedef struct {
  int64_t points, degree, columns, splice_degree;
  int64_t segment; /* whose coefficients are in the cache; -1 for none */
  double then, splice_begin, duration; /* the splice lasts from splice_begin to the point at the time then [s] */
  double still[N], goal[N], turn[N];   /* joints that stay; the end; whole turns to add [rad] */
  int64_t column[N];
  double splice[DEGREES * N];         /* Bernstein coefficients to the next point (degree + 1, N) */
  double cache[DEGREES * 3 * N];      /* power coefficients of a segment */
  double splice_cache[DEGREES * 3 * N];
  const double *times, *bernstein; /* (points,), (degree + 1, points - 1, columns) */
  const double *first, *last;      /* positions (columns,) */
  const double *efforts;           /* planned, (points, columns); 0 if none are */
} Motion;

/* The time of a trajectory under speed scaling: from t on, its time goes on from s at `speed`, which becomes `target`. */
typedef struct {
  int64_t is_scaled; /* 0 at full speed: the rest does not count */
  double t, s, speed, target;
} PathTime;

/* Verdicts on a state (consistency.c). */
enum { TRUSTED, DROPPED, BLIND, FAULTY };
enum { UNDECIDED, TRUST_POSITIONS, TRUST_VELOCITIES, TRUST_NONE }; /* what of a state that contradicts is trusted */
enum { BY_POSITION_NOISE, BY_VELOCITY_NOISE, BY_DELAY, BY_FRICTION, BY_MASSES, BY_PAYLOAD, BY_PUSH }; /* what bounds a residual */
enum { PROBLEM_KINDS = 32 }; /* a problem is its kind, and so many times what bounds it */

/* What may be wrong about states and efforts. A tenth of what is in [rad] counts for a prismatic joint. */
typedef struct {
  double position_noise;   /* standard deviation of a position, its resolution / √12 included [rad] */
  double velocity_noise;   /* least standard deviation of a velocity [rad/s]; more is measured */
  double velocity_delay;   /* greatest time by which velocities lag behind positions, and efforts behind commands [s] */
  double unknown_friction; /* friction that the model does not know, ratio of the effort limit */
  double model_error;      /* relative error of each body's mass */
  double unknown_payload;  /* mass at the tool of which the model does not know [kg] */
  double push_force;       /* force at the tool with which somebody may push [N] */
  double drop_time;        /* for which states may contradict [s] */
  double silence;          /* time without states after which they begin anew [s] */
  double effort_limit[N], velocity_limit[N], lower[N], upper[N]; /* [N·m] or [N], [rad/s] or [m/s], [rad] or [m] */
  double coulomb[N], viscous[N]; /* friction that is known, or told by the URDF [N·m] or [N], [N·m·s/rad] or [N·s/m] */
  double model_coulomb[N], model_viscous[N]; /* what of it `inverse` adds, likewise */
  double scale[N];               /* 1 of a revolute joint, 0.1 of a prismatic one */
} Uncertainty;

/* The memory of the consistency of states. */
typedef struct {
  /* what it says */
  int64_t verdict, problem, joint, setting, dropped; /* dropped: states so far */
  double value, bound;   /* of positions [rad] or [m]; of efforts [N·m] or [N] */
  double unexplained[N]; /* effort beyond what the model needs that each joint may get [N·m] or [N] */
  double at, q[N], v[N]; /* the latest certain state */
  /* states */
  int64_t known, contradicts, driven, modelled;
  double last_t, last_q[N], last_v[N]; /* the latest one, its velocity followed by no more than is possible */
  double raw[2 * N], noise[N];         /* the two velocities before; measured variance of a velocity */
  double offset[2 * N];                /* O without lag and with the greatest */
  int64_t unsure;                      /* 1 if states have to show first that they are consistent */
  double contradicted_t, begun;        /* since when states contradict, and since when there are some */
  /* efforts, since the interval began */
  double begin_t, begin_q[N], begin_v[N];
  double impulse[N], effort[N], shift[N]; /* ∫ τ dt, the latest τ, and ∫ |dτ| */
  double momentum[N];                     /* S */
  int64_t faulty;                         /* what is wrong with it */
  double told[N], acted[N], acted_t; /* mean effort of the latest interval, as told and as the motion shows it; when that ended */
  double residual[N]; /* mean effort beyond what the model needs, friction included [N·m] or [N] */
  double inverse_mass[N * N], bias[N], acceleration_error[N]; /* M⁻¹; C q̇ + g; greatest errors of accelerations */
  /* joints that stand */
  double stood_at[N], unseen[N]; /* where, and w */
  double shown[N], way[N];       /* residual of the latest motion; how far all joints went since then [rad] or [m] */
  /* velocities that jumped, which positions have not shown to be true: by how much, and how far that has led since */
  double jumped[N], led[N]; /* [rad/s] or [m/s], [rad] or [m] */
  int64_t unproved, proved; /* whether there are any; whether one was shown to be true just now */
  int64_t stops[N], stopped; /* joints that stopped at once, of which nothing shows whether they stand; whether there are any */
  double stopped_at[N], stopped_t[N]; /* where and when [s] */
  double swept[N]; /* least mean speed of the latest interval that the noise of positions leaves [rad/s] or [m/s] */
} Consistency;

/* What the loop works with. Whoever makes one keeps it as it is while the loop has it. */
typedef struct {
  Run* step_run; /* the control step, compiled or called back */
  Function1 *gravity, *mass_matrix;
  Function3 *inverse, *forward;
  Function2* tool; /* pose of the tool (4, 4), and its Jacobian (6, N); 0 where nothing is streamed to it */
  Function3* sensitivity; /* of efforts to what the model does not know (dynamics/sensitivity.py); 0 without compiled code */
  Judge* judge; /* judges the rate of the states at once; 0 if somebody does later */
  double** step_arrays;
  Run* observer_run; /* 0 if nothing is observed of contacts */
  double** observer_arrays;
  const double *step_constants, *model, *sensitivity_model, *observer_constants;
  double tool_model[3]; /* parameters of `tool` */
  int64_t tool_directions;
  double tool_axes[36], tool_floor; /* rows of the directions that the arm has, weighted (6); least singular value on a path */
  double stream_timeout, stream_delay, stream_speed[2], stream_acceleration[2], stream_jerk[2]; /* of translation and rotation */
  int64_t law_memory_width, follows, estimates_velocity, plausibility, externally_supported;
  int64_t allow_nonzero_velocity_at_trajectory_end;
  int64_t circular[N], reactions[KINDS * LEVELS], latches[KINDS], judges_contact;
  double max_duration[KINDS]; /* [s] */
  double state_timeout, velocity_filter, reference_timeout, reference_jump;
  double ramp_time, ramp_down_time, settled_time, blend_time, cmd_timeout, speed_scaling;
  double velocity_limit[N], greatest_speed[N], tolerance[N], effort_limit[N], rate_limit[N], lower[N], upper[N];
  double acceleration[N], braking[N], jerk[N]; /* limits of the URDF, INFINITY where it has none [rad/s²], [rad/s³] or [m/s²], [m/s³] */
  double deceleration[N]; /* of a motion that is told to hold [rad/s²] or [m/s²] */
  double sent_part[N];    /* of gravity; the rest is added by the drives */
  double stiffness[N], damping[N];         /* of reactions [N·m/rad], [N·m·s/rad] or [N/m], [N·s/m] */
  double law_stiffness[N], law_damping[N]; /* of the law, likewise */
  double touch[N], collision[N], touch_wrench[2], collision_wrench[2], energy;
  Uncertainty uncertainty;
} Settings;

/* Where the reference comes from. */
typedef struct {
  int64_t source, requests; /* requests: how often something else was asked for */
  double end, start, hold_time, hold_q[N];
  Motion *motion, *next_motion;
  PathTime time, next_time;
  int64_t has_next;
  double next_begin, next_start, next_end, next_hold_time;
  double speed, asked_speed; /* ratio of trajectories; and as it was asked for, on top of the setting */
  /* the limiter of a stream that jumps */
  int64_t has_target, is_limited[N];
  double limiter_t, limiter_jump, limiter_q[N], limiter_qd[N], limiter_qdd[N], target[REFERENCES * N], target_time;
  double limiter_speed[N], limiter_acceleration[N], limiter_braking[N], limiter_jerk[N];
  double target_velocity[N], arrived[N], present[REFERENCES * N];
  /* the goal that is judged: 0 none, 1 of the trajectory that is or was followed, 2 of the next */
  int64_t judged, goal_id, outcome, outcomes[OUTCOMES], outcome_ids[OUTCOMES];
  double goal_start, goal_end, path_tolerance[N], goal_tolerance[N], goal_speed, goal_time;
} References;

typedef struct {
  double position[3], rotation[9]; /* in the root link's frame, row by row */
} ToolPose;

/* What is streamed to the tool. */
typedef struct {
  int64_t follows, state; /* CORE_POSE or CORE_TWIST; what the tool does */
  double t, heard, heard_wrench;
  double q[N], qd[N], posture[N], velocity[6], acceleration[6]; /* of the reference, and of its tool */
  double away[2]; /* from the target [m], [rad] */
  ToolPose pose;
  double twist[6], wrench[6], target_wrench[6];
  /* poses: the last ones and their stamps, newest first, and the curve of the target to the newest one */
  int64_t knots, measured; /* measured: by how many messages */
  ToolPose knot[3];
  double stamp[3], period, late, deviation, delay; /* how late messages come, by how much it varies, and how late the target is [s] */
  double begin, duration, curve[36];
  /* a target at which the tool does not arrive on its path, and the search for a detour */
  ToolPose stood_target, detour_target;
  double stood, rested, guess[N]; /* for how long the tool has stood, and its target rested [s] */
  int64_t seeds, tries;
} Tool;

typedef struct {
  StepMemory memory;
  References references;
  Tool tool;
  double time; /* of the latest reference [s] */
  /* the loop */
  int64_t restarts, clock_reset, driving, conflict, gravity_known, to_judge;
  double q[N], qd[N], driving_effort[N], gravity_last[N], state_age;
  int64_t stepped; /* 1 if there is a latest control step, and its state and reference */
  double stepped_q[N], stepped_qd[N], stepped_reference[REFERENCES * N], stepped_planned[N];
  /* states */
  double last_q[N];
  int64_t estimate_known, good, refused;
  double estimate_t, estimate_q[N], estimate_v[N];
  double good_t, good_ahead, refused_t, refused_ahead, refused_since;
  /* their rate */
  int64_t count;
  double period, delay, carried, sampling_last, mean, before, judged_period, judged_delay, judged_t, settled_until;
  double carried_stiffness[N], carried_damping[N];
  Consistency consistency;
  /* contact */
  int64_t told, applies; /* told: 1 + its kind's place from COLLISION on, or 0 */
  double applied[N], bias[N], observed[3 * N], external[N + 8];
  /* faults */
  int64_t trail_count, trail_last;
  double trail_time, trail[TRAIL * N]; /* positions on the path, a ring */
  int64_t faults, active, active_kind, phase, present, latched, blind, carries; /* faults: how many there have been */
  double active_begin, until, ramp_down_time, ramped, left, found[N];
  double stood_since, stood_q[N], recent_speed[N], stepped_t; /* since when and where the arm stands; how fast it was; latest step */
  int64_t expects; /* 1 if the arm moves by the model while nobody sees it: when, where, how fast */
  double expected_since, expected_t, certain_t, expected_q[N], expected_v[N]; /* since which state; when a velocity was certain last */
  double gravity_error[N], lacked[N], carried_error[N]; /* of what carries a joint: by how much the model may be wrong, was wrong,
                                                           and is corrected [N·m] or [N] */
  double dry[N], driven[N]; /* dry friction, and what else it lacked, which drives a joint [N·m] or [N] */
  double alone_q[N], alone_v[N], strayed[N]; /* where the arm is by the model alone, and how fast; by how much velocities that are
                                                trusted changed more than efforts explain [rad/s] or [m/s] */
  int64_t trusts; /* of states that contradict: what of them is trusted */
  double differ_t, differ_q[N], differ_v[N]; /* likewise: the velocity of their positions */
  double estimated_v[N]; /* the velocity that reactions use */
  double blind_begin, blind_t, held; /* since when no state can be trusted, the latest command since then, and the longest that
                                        one of them was held [s] */
  double begin_speed[N], grows_since; /* speeds at the beginning of a reaction; since when a joint that disobeys is faster */
  int64_t disobeys[N], is_suspect, suspect_joint, suspect_problem; /* a joint that stood although it was driven, and where */
  double suspect_q, suspect_value, suspect_bound;
  int64_t history_latched[KINDS], level[KINDS], begins_count[KINDS];
  double seen[KINDS], reacted[KINDS], spent[KINDS];
  /* what is wrong, for words: in which joint, and two numbers */
  int64_t problem, problem_joint;
  double problem_value, problem_bound;
  double* begins; /* times at which faults began lately (KINDS, RECURRENCES) [s] */
} State;

/* A period: what comes in, and what is to be sent. */
typedef struct {
  double t, now, age;
  int64_t has_velocity, kind; /* kind of the fault that is reacted to, -1 for none */
  double q[N], qd[N], reference[REFERENCES * N], rows[ROWS * N], external[N + 8];
} Period;

/* What may be asked of the loop between two periods: functions of core.h. */
enum {
  APPLY, START, STOP, RESET_CLOCK, TRACK, MOVE_TOOL, STAND_STILL, FOLLOW, RETURNED, SCALE_SPEED, EXPECTED, HOLD_STILL, TARE, SET_CONTACT,
  SET_CONFLICT, PART, SET_CARRIED, SNAPSHOT
};

/* One of these calls, with its arguments and its result. */
typedef struct {
  int64_t what, number, outcome;   /* outcome: why it is refused, or what it returns */
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
  double start, speed_limit[N]; /* when its time is 0 [s]; velocity limits that it was checked by */
  double* rows[3];              /* positions, velocities, accelerations (points, columns); 0 where not given */
  double numbers[];
};

struct Core {
  State state;
  Period period;
  CoreSettings* settings;
  CoreTrajectory *held[MOTIONS], *back[MOTIONS]; /* trajectories that may be in use, and those to be given back */
  CoreTrajectory* stops[2]; /* memory of a motion that comes to rest, and of the one before */
  int stop;
  double begins[KINDS * RECURRENCES]; /* times at which faults began lately (KINDS, RECURRENCES) [s] */
};

static inline double greater(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static inline void copy(double* to, const double* from) { EACH to[i] = from[i]; }
static inline void clear(double* to) { EACH to[i] = 0; }
static inline double within(double x, double bound) { return smaller(greater(x, -bound), bound); }

static inline int is_finite(const double* x) {
  EACH if (!isfinite(x[i])) return 0;
  return 1;
}

static inline void say(State* m, int problem, int joint, double value, double bound) {
  m->problem = problem; m->problem_joint = joint; m->problem_value = value; m->problem_bound = bound;
}

/* A position of a joint in the turn that is nearest to another one. */
#define TURN 6.283185307179586
static inline double near_turn(const Settings* s, int joint, double reference, double q) {
  return s->circular[joint] ? q - TURN * nearbyint((q - reference) / TURN) : q;
}

/* Functions that one part of the core calls in another; static where the core is one unit. */
#ifndef CORE_SHARED
#define CORE_SHARED static
#endif
CORE_SHARED void start(State* m, double t, const double* q); /* references.c */
CORE_SHARED void end_goal(References* y, int outcome);
CORE_SHARED void advance_limiter(References* y, double t);
CORE_SHARED void sample(References* y, double t, double* r);
CORE_SHARED int planned_at(const References* y, double t, double* effort);
CORE_SHARED void proceed(References* y, double t, const double* q);
CORE_SHARED void wait(References* y, double dt);
CORE_SHARED int judge(const References* y, double t, const double* error, const double* qd);
CORE_SHARED void advance_tool(const Settings* s, State* m, double t); /* tool.c */

#endif
