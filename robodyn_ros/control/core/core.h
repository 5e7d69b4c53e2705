// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The control loop of one arm: from joint states to efforts. It knows no ROS and no Python.

     JointState ─▶ states ─▶ consistency ─▶ references ─▶ step_run ─▶ faults ─▶ effort
                   age, order,  velocity against  hold, trajectory,  law and   what is wrong,
                   jumps, NaN   position, motion   stream, tool       limits,   and the reaction
                                against effort                        compiled  to it

   core_update and core_watch are a period (loop.c). Two threads may use a loop. One runs the periods: every function that
   takes a `Core` belongs to it; these functions neither allocate nor lock, and take a bounded time. Any other thread
   prepares what the first one takes over whole: settings and trajectories; these functions may allocate.

   Arrays have CORE_JOINTS numbers, in SI units: rad or m, N·m or N, s. Times are by the clock of the states. */

#ifndef CORE_H
#define CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Core Core;
typedef struct CoreSettings CoreSettings;
typedef struct CoreTrajectory CoreTrajectory;

/* Why something is refused. */
enum {
  CORE_OK,
  CORE_NOT_STARTED, /* no state has come yet */
  CORE_FAULT,       /* a fault lasts */
  CORE_OUTSIDE,     /* position of a joint: value, and the limit */
  CORE_TOO_FAST,    /* velocity of a joint, likewise */
  CORE_TOO_STRONG,  /* effort of a joint, likewise */
  CORE_TOO_ABRUPT,  /* acceleration of a joint, likewise */
  CORE_UNREACHABLE, /* a joint jumps, and has no velocity limit within which it could be led there */
  CORE_OVER,        /* the trajectory is over: value is its duration [s] */
  CORE_NOT_NUMBERS,
  CORE_CHANGED,     /* the velocity limits changed while the trajectory was prepared */
  CORE_NOT_HELD,    /* the limits do not hold the arm where it is: effort of a joint, and its limit */
  CORE_NOT_RISING,  /* times of a trajectory do not rise strictly: `joint` is the point */
  CORE_IN_MOTION,   /* the trajectory does not end at rest */
  CORE_NO_TOOL,     /* the settings name none */
  CORE_NO_MEMORY
};

typedef struct {
  int64_t why, joint;
  double value, limit; /* in the unit of what is refused */
} CoreRefusal;

/* --- trajectories: not for the thread of the periods */

/* A trajectory of some joints through points, each row one after the other, (points, columns). Velocities, with them
   accelerations, and planned efforts may be 0: not given.
     start: when its time is 0 [s]; NAN for now
     now: time of the latest state [s]; points that are over by then are not checked
   Returns 0, and why, if it is refused. */
CoreTrajectory* core_trajectory_create(const CoreSettings* settings, int64_t points, int64_t columns, const int64_t* joints,
                                       const double* times, const double* positions, const double* velocities,
                                       const double* accelerations, const double* efforts, double start, double now,
                                       CoreRefusal* refusal);
void core_trajectory_destroy(CoreTrajectory* trajectory);

/* --- velocities of a stream of positions: the caller owns the memory, of one thread */

typedef struct {
  double t[CORE_JOINTS], q[CORE_JOINTS], v[CORE_JOINTS]; /* stamp [s], position and velocity of the latest message */
  double silent_after;                                    /* [s] */
} CoreVelocity;

void core_velocity_reset(CoreVelocity* stream);

/* Velocities of the joints of a message at the time t of its stamp [s], by filtered differentiation. */
void core_velocity_update(CoreVelocity* stream, const CoreSettings* settings, double t, const int64_t* joints, const double* q,
                          double* velocity);

/* Nonzero if the stream was moving and has been silent for longer than messages get lost. */
int core_velocity_is_silent(const CoreVelocity* stream, double elapsed);

/* --- the loop */

Core* core_create(void); /* not for the thread of the periods; 0 without memory */
void core_destroy(Core* core);

/* How other settings take over. */
enum {
  CORE_REFRESH,  /* the same settings with other numbers of the model: at once */
  CORE_CONTINUE, /* the same law and model: what changes of the effort fades in */
  CORE_BLEND,    /* another model: the effort goes over from the one sent last */
  CORE_REPLACE   /* another law: likewise, and its integral begins anew */
};

/* Work with other settings from now on. They belong to the caller, who keeps them until others are applied. */
void core_apply(Core* core, CoreSettings* settings, int how);

/* The settings that the loop works with; 0 before the first. */
const CoreSettings* core_settings(const Core* core);

/* Hold where the arm is at the time t [s], q, and forget everything else. The first state does this by itself. */
void core_start(Core* core, double t, const double* q);

/* Forget everything, and wait for a first state again. */
void core_stop(Core* core);

/* The clock went back, because a simulation was reset: the next state is accepted whatever its time and position. */
void core_reset_clock(Core* core);

/* Keep to a streamed reference, at the time t [s], until the next one. `joints` has 1 where the reference is of a joint; the
   others stay. */
CoreRefusal core_track(Core* core, double t, const int64_t* joints, const double* q, const double* qd, const double* qdd,
                       const double* effort);

/* A stream of positions has fallen silent: stand still where it was, for the rest of its time. */
void core_stand_still(Core* core);

/* What may be streamed to the tool, in the axes of the root link. */
enum {
  CORE_POSE,  /* position (3), and rotation (3, 3) row by row */
  CORE_TWIST, /* velocity of the tool's origin, and angular velocity (6) */
  CORE_WRENCH /* what the tool is to exert besides: force and torque about its origin (6) */
};

/* Something new has come for the tool, at the time t [s]; a pose has a stamp, NAN for t. A stream begins where the reference
   is, and the reference goes on with it in every period (tool.c). */
CoreRefusal core_tool(Core* core, int what, double t, double stamp, const double* numbers);

/* What a trajectory is judged by; INFINITY where it is not. */
typedef struct {
  double path[CORE_JOINTS], goal[CORE_JOINTS]; /* greatest error on the way, and at the goal [rad] or [m] */
  double speed, time; /* greatest speed of a joint at the goal [rad/s] or [m/s], and time to come to rest there [s] */
} CoreTolerances;

/* Follow a trajectory. It belongs to the loop until core_returned gives it back, also if it is refused. Its outcome
   is kept under `id`, in References. */
CoreRefusal core_follow(Core* core, CoreTrajectory* trajectory, const CoreTolerances* tolerances, int64_t id);

/* A trajectory that the loop does not need any more, 0 if there is none. */
CoreTrajectory* core_returned(Core* core);

/* How a trajectory ended; one whose outcome is kept no longer counts as switched off. */
enum {
  CORE_UNDER_WAY, CORE_SUCCEEDED, CORE_OFF_PATH, CORE_OFF_GOAL, CORE_REPLACED, CORE_HELD, CORE_INTERRUPTED, CORE_SWITCHED_OFF
};

/* Follow trajectories at a ratio of their speed, from 0 to 1, on top of the setting. */
void core_scale_speed(Core* core, double ratio);

/* The reference (4, CORE_JOINTS: position, velocity, acceleration, effort) at a time t [s], if nothing else is asked for. */
CoreRefusal core_expected(Core* core, double t, double* reference);

/* Come to rest at the time t [s] and stay; at q, at once, unless that is 0. A latched fault is acknowledged. */
CoreRefusal core_hold(Core* core, double t, const double* q);
void core_acknowledge(Core* core);

/* What acts from outside (efforts of the joints; as observed now if 0) is zero from now on. */
void core_tare(Core* core, const double* efforts);

/* Contact that somebody else has found: 0 none, 1 collision, 2 touch. */
void core_set_contact(Core* core, int kind);

/* Nonzero: there are several publishers of states, commands or references. */
void core_set_conflict(Core* core, int conflict);

/* What is to be done after a period. */
enum {
  CORE_SEND,   /* there is an effort to send */
  CORE_SILENT, /* a reaction has ended, or there is nothing to send */
  CORE_STALE, CORE_OUT_OF_ORDER, CORE_JUMPED, CORE_STATE_NOT_FINITE, CORE_NO_VELOCITY, /* the state is refused */
  CORE_LAW_FAILED,    /* the law fails, and nothing was sent before: the loop has stopped */
  CORE_STATE_NOT_HELD /* the limits do not hold the arm at its first state */
};

/* A period. t is the stamp of the state, now the time now [s]; qd is 0 where none is measured. */
int core_update(Core* core, double t, double now, const double* q, const double* qd);

/* A period in which no usable state comes, at the time t [s]: the reaction is due once state_timeout is over. */
int core_watch(Core* core, double t);

/* Time after which the next core_watch is due [s]: `rests` as long as nothing is sent without states, then a period of the states,
   which the gains of a reaction are for. */
double core_watch_due(const Core* core, double rests);

/* Nonzero if the latest effort goes on at the time t [s], which is also that of a state that jumped: for drives that brake
   without commands, and for a simulator that waits for the answer to each state. */
int core_repeat(Core* core, double t, double now);

/* The next effort on the way to the one that carries the arm where it was last, for drives that keep to their last
   command. Nonzero while there is one: 2 if it is that effort. */
int core_part(Core* core, double t, double* effort);

/* The five numbers of MIT mode for the effort of the latest period, at the time t [s]; q as the drives count turns.
   `greatest` has the greatest stiffness and damping. */
void core_mit(const Core* core, double t, const double* q, const double* effort, const double* greatest, double* position,
              double* velocity, double* stiffness, double* damping, double* feed_forward);

#ifdef __cplusplus
}
#endif

#endif
