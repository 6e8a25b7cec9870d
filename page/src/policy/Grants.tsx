import { Button } from "@mantine/core";
import { useState } from "react";
import { authority, type Grant } from "../api/authority";
import { useNow } from "../chat/Elapsed";
import { usePolled } from "../servers/usePolled";
import { Failure } from "../settings/Warning";
import { tell } from "../shell/messages";
import { conversationPath, navigate } from "../shell/router";
import { useApp } from "../store/store";
import { inWords } from "./pattern";
import classes from "./Policy.module.css";
import { grantFacts, timeLeft } from "./words";

/** Often enough to see a permission being used. */
const EVERY_MS = 3_000;

function Row({ grant, now, onRevoked }: { grant: Grant; now: number; onRevoked: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const title = useApp(
    (state) => state.conversations.find(({ id }) => id === grant.conversationId)?.title || "a conversation",
  );
  const words = inWords(grant.pattern);
  const revoke = () => {
    setBusy(true);
    authority
      .revoke(grant.id)
      .then(onRevoked, tell)
      .finally(() => setBusy(false));
  };
  return (
    <li className={classes.row} aria-label={words}>
      <div className={classes.about}>
        <div className={classes.words}>{words}</div>
        <div className={classes.quiet}>
          in{" "}
          <a
            href={conversationPath(grant.conversationId)}
            onClick={(event) => {
              event.preventDefault();
              navigate(conversationPath(grant.conversationId));
            }}
          >
            {title}
          </a>
          , {grantFacts(grant, now)}
        </div>
      </div>
      <span className={classes.left}>{timeLeft(grant, now)}</span>
      <Button size="compact-sm" variant="default" disabled={isBusy} onClick={revoke}>
        Revoke
      </Button>
    </li>
  );
}

/** What is allowed in conversations: what it covers, until when it holds, and the way to end it now. */
export function Grants() {
  const { data, problem, refresh } = usePolled(authority.grants, EVERY_MS);
  const now = useNow(1_000) / 1000;
  const standing = data?.grants.filter((grant) => grant.revokedAt === null && (grant.expiresAt ?? Infinity) > now) ?? [];
  return (
    <section aria-label="Permissions in conversations">
      <h2 className="ph-section-title">Permissions in conversations</h2>
      <p className="ph-explained">Given on a question: for a task, for a while, or in one conversation. Revoke ends one at once.</p>
      <Failure message={problem} />
      {standing.length > 0 && (
        <ul className={classes.list}>
          {standing.map((grant) => (
            <Row key={grant.id} grant={grant} now={now} onRevoked={refresh} />
          ))}
        </ul>
      )}
      {data && standing.length === 0 && <p className={classes.none}>None at the moment.</p>}
    </section>
  );
}
