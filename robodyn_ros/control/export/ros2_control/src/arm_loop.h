// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The control loop of one arm, for a controller of ros2_control: the core (core/core.h), its settings by parameters
   (parameters.c), and its messages.

   The functions that take an `Arm` are for the update thread: they neither allocate nor lock, and take a bounded time.
   All others may allocate, and return a problem as text. */

#ifndef ARM_LOOP_H
#define ARM_LOOP_H

#include "arm.h"
#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Arm Arm;
typedef struct ArmSettings ArmSettings;

extern const char* const arm_joints[];
extern const char* const arm_terms[];
extern const char* const arm_fault_names[];
extern const char* const arm_links[];  /* the root link, the tool, and the link with the external wrench */
extern const char* const arm_frames[]; /* all links, ARM_LINKS: streams of the tool may be in their axes */

/* --- parameters */

/* A text that a parameter may have, and the number that stands for it in `Parameters`. */
typedef struct {
  const char* text;
  double value;
} ArmChoice;

/* A parameter of the controller. */
typedef struct {
  const char* name;
  char kind;                /* d number, i integer, b on or off, s text, v numbers, l list of texts */
  char fixed;               /* 1: it cannot be changed in this package */
  int place, count;         /* index of its first number in `Parameters`, and count of its numbers */
  double least, greatest;   /* of a number */
  const ArmChoice* choices; /* of a text; the last has none */
} ArmParameter;

const ArmParameter* arm_parameters(int* count);

/* --- settings: not for the update thread */

ArmSettings* arm_settings_create(void); /* 0 without memory */
void arm_settings_destroy(ArmSettings* settings);

/* Compute the settings from parameters. Returns 0, and the problem as text, if they are not possible. `period` is the
   time between two updates [s]. */
int arm_settings_prepare(ArmSettings* settings, const Parameters* given, double period, char* problem, size_t size);

/* Whether the limits can hold the arm: at q, at least as well as the settings `now`, unless that is 0; or, if the
   position is unknown (q is 0), in an eighth of many poses. Returns 0, and the problem as text, if they cannot. */
int arm_settings_hold(const ArmSettings* settings, const ArmSettings* now, const double* q, char* problem, size_t size);

const Parameters* arm_given(const ArmSettings* settings);
const CoreSettings* arm_core_settings(const ArmSettings* settings);

/* --- the loop */

Arm* arm_create(void); /* not for the update thread; 0 without memory */
void arm_destroy(Arm* arm);

/* The core, for functions that need no data of the arm. */
Core* arm_core(Arm* arm);

/* Use other settings from now on. The loop owns them until others are applied. */
void arm_apply(Arm* arm, ArmSettings* settings);

/* The present settings of the loop. */
ArmSettings* arm_settings(const Arm* arm);

/* Clear everything, and wait for a first state. */
void arm_stop(Arm* arm);

/* Follow a trajectory, with the tolerances of the settings. The loop owns it until core_returned returns it. */
CoreRefusal arm_follow(Arm* arm, CoreTrajectory* trajectory);

/* Why a trajectory has not begun at its start time since the last call; CORE_OK if none was dropped. */
CoreRefusal arm_dropped(Arm* arm);

/* The tolerance for which a trajectory was aborted since the last call, likewise. */
CoreRefusal arm_aborted(Arm* arm);

/* Use of the efforts of an update. */
enum {
  ARM_SEND,   /* send them */
  ARM_KEEP,   /* send nothing new */
  ARM_SILENT, /* a reaction has ended, or there is nothing to send: the efforts are zero */
  ARM_BLIND   /* no usable state since the start, for state_timeout: the last known gravity effort, or zero */
};

/* An update in numbers. */
typedef struct {
  int code;                    /* of core_update */
  CoreRefusal refusal;         /* of a first state at which the limits cannot hold the arm */
  int fault;                   /* kind of the active fault, as index in arm_fault_names; -1 for none */
  int latched, problem, joint; /* of this fault */
  double value, bound;
  long long faults;            /* count of faults so far */
  double effort[CORE_JOINTS];
  double terms[ARM_TERMS * CORE_JOINTS], error[CORE_JOINTS]; /* of the law, without a fault */
  double external[CORE_JOINTS]; /* external efforts, if they are observed */
} ArmReport;

/* A period. t is the time [s]; qd is 0 if velocities are not measured. */
int arm_update(Arm* arm, double t, const double* q, const double* qd, ArmReport* report);

/* The five numbers of MIT mode for the efforts of the latest update. */
void arm_mit(const Arm* arm, double t, const double* q, const double* effort, double* position, double* velocity,
             double* stiffness, double* damping, double* feed_forward);

/* The final command by the parameter on_deactivate: efforts, and damping of drives in MIT mode. Nonzero if commands
   were being sent. */
int arm_final_command(Arm* arm, double* effort, double* damping);

/* The external wrench in the axes of its link: force and torque about its origin (6). */
void arm_wrench(const Arm* arm, double* wrench);

/* --- streams for the tool, in the axes of the root link */

/* Transform a target from a frame to the root link: `pose` (4, 4) is that of the frame in the root link, row by row. */
void arm_to_root(int what, const double* pose, double* numbers);

/* Take a new target of the tool, in the form of core_tool, at the time t. `frame` is the index in arm_frames of the
   link in whose present axes it is given; -1 for the root link. */
CoreRefusal arm_tool(Arm* arm, int what, int frame, double t, double stamp, const double* numbers);

/* Nonzero while the tool cannot reach its streamed target. */
int arm_is_unreachable(const Arm* arm);

/* --- messages: not for the update thread */

void arm_fault_text(const ArmReport* report, char* text, size_t size);
void arm_refusal_text(const CoreRefusal* refusal, char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
