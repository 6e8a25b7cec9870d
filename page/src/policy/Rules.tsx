import { ActionIcon, Button } from "@mantine/core";
import { useState } from "react";
import { authority, type PolicyView, type Rule, type RuleUse } from "../api/authority";
import { useNow } from "../chat/Elapsed";
import { Confirm } from "../settings/Confirm";
import settings from "../settings/Settings.module.css";
import { PencilIcon, PlusIcon, TrashIcon } from "../shell/icons";
import { inWords } from "./pattern";
import classes from "./Policy.module.css";
import { RuleForm } from "./RuleForm";
import { draftOf, newRule, type RuleDraft } from "./ruleDraft";
import { Verdict } from "./Verdict";
import { ruleFacts, verdictNames } from "./words";

interface RowProps {
  rule: Rule;
  use: RuleUse | undefined;
  onEdit: () => void;
  onDelete: () => Promise<unknown>;
}

function Row({ rule, use, onEdit, onDelete }: RowProps) {
  const now = useNow(30_000) / 1000;
  const words = inWords(rule.pattern);
  const name = `${verdictNames[rule.verdict]}: ${words}`;
  return (
    <li className={classes.row} aria-label={name}>
      <Verdict verdict={rule.verdict} />
      <div className={classes.about}>
        <div className={classes.words}>{words}</div>
        {rule.note && <div className={classes.note}>{rule.note}</div>}
        <div className={classes.quiet}>{ruleFacts(rule, use, now)}</div>
      </div>
      <div className={classes.tools}>
        <ActionIcon aria-label={`Edit ${name}`} onClick={onEdit}>
          <PencilIcon size={16} />
        </ActionIcon>
        <Confirm question="Delete this rule? What it decided so far stays as it is." action="Delete" onConfirm={onDelete}>
          {(ask) => (
            <ActionIcon aria-label={`Delete ${name}`} onClick={ask}>
              <TrashIcon size={16} />
            </ActionIcon>
          )}
        </Confirm>
      </div>
    </li>
  );
}

/** Which rules are listed, and what is said about them. */
export interface Topic {
  title: string;
  explained: string;
  none: string;
  isAbout: (rule: Rule) => boolean;
  first: () => RuleDraft;
}

const everything: Topic = {
  title: "Rules",
  explained:
    "Rules hold in all conversations. Where several speak about a call, the strictest counts: deny, then ask, then allow. " +
    "No rule allows secrets, what starts by itself, or dangerous calls. One that names a tool or a destination lets private data go there.",
  none: "No rules yet. “Always for this pattern” on a question adds one too.",
  isAbout: () => true,
  first: newRule,
};

interface RulesProps {
  policy: PolicyView;
  onChange: (policy: PolicyView) => void;
  topic?: Topic;
}

/** The person's rules: what each is about, why it is there, how old it is and how often it decided. */
export function Rules({ policy, onChange, topic = everything }: RulesProps) {
  const [draft, setDraft] = useState<RuleDraft | null>(null);
  const rules = policy.rules.filter(topic.isAbout);
  const remove = async (id: string) => {
    const now = (await authority.policy()).rules;
    onChange(await authority.keepPolicy(now.filter((rule) => rule.id !== id)));
  };
  const kept = (next: PolicyView) => {
    onChange(next);
    setDraft(null);
  };
  return (
    <section aria-label={topic.title}>
      <div className={settings.sectionHead}>
        <h2 className="ph-section-title">{topic.title}</h2>
        <Button size="compact-sm" leftSection={<PlusIcon size={15} />} onClick={() => setDraft(topic.first())}>
          Add a rule
        </Button>
      </div>
      <p className="ph-explained">{topic.explained}</p>
      {rules.length > 0 ? (
        <ul className={classes.list}>
          {rules.map((rule) => (
            <Row
              key={rule.id}
              rule={rule}
              use={policy.uses.find(({ ruleId }) => ruleId === rule.id)}
              onEdit={() => setDraft(draftOf(rule))}
              onDelete={() => remove(rule.id)}
            />
          ))}
        </ul>
      ) : (
        <p className={classes.none}>{topic.none}</p>
      )}
      <RuleForm draft={draft} rules={policy.rules} onKept={kept} onClose={() => setDraft(null)} />
    </section>
  );
}
