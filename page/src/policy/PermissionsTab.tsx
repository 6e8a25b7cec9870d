import type { PolicyView } from "../api/authority";
import { Described } from "../settings/Described";
import { Failure, Place, Warning } from "../settings/Warning";
import { Audit } from "./Audit";
import { Grants } from "./Grants";
import { Rules } from "./Rules";
import { usePolicy } from "./usePolicy";

function Problem({ problem }: { problem: NonNullable<PolicyView["problem"]> }) {
  return (
    <Warning title="The file of your rules cannot be read">
      <Place {...problem} />
      <p>{problem.message} Until it is mended nothing is allowed by rule; what was denied stays denied.</p>
    </Warning>
  );
}

/** Who may do what: rules, permissions in conversations, and the record of what was decided. */
export default function PermissionsTab() {
  const { policy, problem, keep } = usePolicy();
  return (
    <>
      <Failure message={problem} />
      {policy?.problem && <Problem problem={policy.problem} />}
      <Described tab="permissions" />
      {policy && <Rules policy={policy} onChange={keep} />}
      <Grants />
      <Audit />
    </>
  );
}
