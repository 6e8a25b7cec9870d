import type { Grant, Rule, RuleUse, Verdict } from "../api/authority";
import { age } from "../servers/words";

export const verdictNames: Record<Verdict, string> = { allow: "Allow", ask: "Ask", deny: "Deny" };
export const verdictPast: Record<Verdict, string> = { allow: "allowed", ask: "asked", deny: "refused" };

const times = (count: number) => (count === 0 ? "never used" : count === 1 ? "used once" : `used ${count} times`);

/** Return how old a rule is and how often it decided. */
export function ruleFacts(rule: Rule, use: RuleUse | undefined, now: number): string {
  const facts = [
    rule.createdAt > 0 && `${age(now - rule.createdAt)} old`,
    times(use?.uses ?? 0),
    use?.lastUsedAt && `last ${age(now - use.lastUsedAt)} ago`,
  ];
  return facts.filter(Boolean).join(", ");
}

/** Return how long a permission still holds: "3 min 20 s left". */
export function timeLeft({ expiresAt, createdAt, runId }: Grant, now: number): string {
  if (expiresAt === null) return runId ? "until its answer ends" : "until you withdraw it";
  // Never more than it was given: the clock of this device is only nearly the host's.
  const left = Math.min(Math.max(0, Math.ceil(expiresAt - now)), Math.round(expiresAt - createdAt));
  if (left === 0) return "over";
  if (left < 60) return `${left} s left`;
  return left < 3_600 ? `${Math.floor(left / 60)} min ${left % 60} s left` : `${age(left)} left`;
}

/** Return how old a permission is, how often it was used, and how often it may be. */
export function grantFacts(grant: Grant, now: number): string {
  return [`${age(now - grant.createdAt)} old`, times(grant.uses), grant.singleUse && "for one call"].filter(Boolean).join(", ");
}
