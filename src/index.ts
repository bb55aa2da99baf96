export type { Allowance, AllowancePeriod } from './approval/allowance.ts';
export {
  AlwaysNotAllowed,
  type Approval,
  type Approver,
  ArgumentsInvalid,
  type Decision,
  type Denial,
  EditRefused,
  StepAlreadyDecided,
  StepNotFound,
} from './approval/decision.ts';
export type { FirstPlace, Policy, PolicyAnswer, PolicyContext, PolicyStep } from './approval/policy.ts';
export { type ApprovalRequest, describeApproval } from './approval/request.ts';
export { type Clock, systemClock } from './clock.ts';
export { type ErrorCode, type ErrorDetails, isSkillRunError, SkillRunError } from './errors.ts';
export type { ListenerFault, Subscription } from './events.ts';
export type { Approvals, ApproveOptions, DecisionResult, Grants } from './gateway/approvals.ts';
export type { AuditLog } from './gateway/audit-log.ts';
export type { GatewayEvents } from './gateway/events.ts';
export { type CallOptions, createSkillGateway, type SkillGateway } from './gateway/gateway.ts';
export { type ModelTextOptions, modelText } from './gateway/model-text.ts';
export type { AuditSink, GatewayOptions, Narrowing, ToolRef } from './gateway/options.ts';
export type {
  AwaitingApproval,
  CallRef,
  Completed,
  Ended,
  InvalidArguments,
  MachineOffer,
  NoNode,
  Outcome,
  StepSummary,
  UnknownTool,
} from './gateway/outcome.ts';
export type { RegistryDown, RegistryPort } from './gateway/registry-port.ts';
export type { ModelCall } from './gateway/resolve.ts';
export type { Guidance, GuidanceEntry } from './menu/guidance.ts';
export type { InputSchema } from './menu/input-schema.ts';
export {
  type Menu,
  type MenuEntry,
  type MenuTool,
  type SkillSet,
  type VerifyOptions,
  verifySkills,
} from './menu/skill-set.ts';
export { cardLine, netWords } from './menu/words.ts';
export { type FenceOptions, fence } from './result/fence.ts';
export { isUntrusted, type Untrusted, untrusted } from './result/untrusted.ts';
export {
  createRunClient,
  type JobQuery,
  type RunClient,
  type RunClientOptions,
  type StreamQuery,
} from './run/client.ts';
export type { StreamEvent } from './run/event-stream.ts';
export { createNodeDirectory, type NodeDirectory, type NodeDirectoryOptions } from './run/nodes.ts';
export { RunProblem, type RunProblemParts } from './run/problem.ts';
export { createRunService, type RunServiceOptions } from './run/run-service.ts';
export type {
  CodeResource,
  FollowOptions,
  Person,
  RunContext,
  RunNode,
  RunService,
  Tier,
} from './run/service.ts';
export type { TokenSource } from './run/token.ts';
export type {
  Diagnostics,
  Egress,
  Job,
  JobEvent,
  JobInput,
  JobLimits,
  JobList,
  JobRequest,
  JobState,
  Requirements,
  StreamTicket,
  SubmitAnswer,
  Trust,
} from './run/wire.ts';
export type { ArgsError } from './skill/args/args-error.ts';
export type { ArgsValidator, ArgsVerdict } from './skill/args/compile.ts';
export type {
  ArgsProperty,
  ArgsSchema,
  ArrayProperty,
  Keywords,
  Scalar,
  ScalarProperty,
  ScalarType,
} from './skill/args/schema.ts';
export {
  type StandardArgsSchema,
  type StandardIssue,
  type StandardResult,
  standardSchema,
} from './skill/args/standard.ts';
export type { Limits, Net } from './skill/caps.ts';
export type {
  SkillDocument,
  SkillDocumentV1,
  SkillDocumentV2,
  SkillRequirements,
  SkillResource,
  SkillTool,
} from './skill/document.ts';
export { SkillInvalid, type SkillIssue } from './skill/issue.ts';
export type { Json, JsonObject } from './skill/json.ts';
export {
  acknowledgementOf,
  parseListing,
  type ScanFinding,
  type SkillListing,
  type Verdict,
} from './skill/listing.ts';
export { parseSkill } from './skill/parse.ts';
export type { CodePin } from './skill/pins.ts';
export type {
  InstalledSkill,
  ProblemReason,
  SkillProblem,
  VerifiedSkill,
  VerifiedTool,
} from './skill/verify.ts';
export type { EndStatus, JobSummary, StepEnd } from './step/end.ts';
export type {
  AgentLevel,
  SkillFacts,
  StepAttempt,
  StepDecision,
  StepEdit,
  StepFacts,
  StepHold,
  StepOwner,
  StepPin,
  StepRecord,
  StepRun,
  StepState,
} from './step/record.ts';
export type { AllowanceRecord } from './store/allowance.ts';
export type { AuditEntry, AuditEvent, AuditFacts, AuditScope } from './store/audit.ts';
export { parseAuditLine } from './store/audit-line.ts';
export type { Grant, GrantScope } from './store/grant.ts';
export { createMemoryStore, type MemoryStore } from './store/memory.ts';
export type {
  AllowanceStore,
  AuditPage,
  AuditStore,
  GrantStore,
  StepQuery,
  StepStore,
  StorePort,
  StoreScope,
} from './store/port.ts';
export {
  type AuditFault,
  type AuditHead,
  type AuditVerdict,
  type VerifyAuditOptions,
  verifyAudit,
} from './store/verify-audit.ts';
