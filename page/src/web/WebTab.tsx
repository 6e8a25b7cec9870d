import { Anchor, Button, PasswordInput } from "@mantine/core";
import { Children, useCallback, useEffect, useState, type ReactNode } from "react";
import { errorText } from "../api/client";
import type { WebServiceView } from "../api/types";
import { web } from "../api/web";
import { loadConfig } from "../settings/actions";
import { Described } from "../settings/Described";
import { ConfigProblem } from "../settings/GeneralTab";
import classes from "../settings/Settings.module.css";
import { TestResult } from "../settings/TestResult";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";

/** The headings as the server has them. */
const headings: Record<WebServiceView["use"], string> = { search: "Searching the web", pictures: "Making pictures" };

interface KeyProps {
  service: WebServiceView;
  onKept: (services: readonly WebServiceView[]) => void;
}

/** The key of a service: whether there is one, and a place to paste another. */
function ServiceKey({ service, onKept }: KeyProps) {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState("");
  const [isKeeping, setKeeping] = useState(false);
  const keep = (value: string | null) => {
    setKeeping(true);
    setProblem("");
    web
      .setKey(service.use, value)
      .then(
        ({ services }) => {
          setTyped("");
          onKept(services);
        },
        (error: unknown) => setProblem(errorText(error)),
      )
      .finally(() => setKeeping(false));
  };
  return (
    <form
      className={classes.keyFields}
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim()) keep(typed);
      }}
    >
      <PasswordInput
        label={service.hasKey ? `Another key for ${service.name}` : `Key for ${service.name}`}
        description={
          <>
            Kept as a secret, and sent only to {new URL(service.address).host}.
            {service.keyPage && (
              <>
                {" "}
                Get one at{" "}
                <Anchor inherit underline="always" href={service.keyPage} target="_blank" rel="noreferrer">
                  {new URL(service.keyPage).host}
                </Anchor>
                .
              </>
            )}
          </>
        }
        autoComplete="new-password"
        spellCheck={false}
        w="100%"
        maw={480}
        value={typed}
        error={problem}
        visibilityToggleButtonProps={{ "aria-label": "Show the key", tabIndex: 0 }}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <div className={classes.cardActions}>
        <Button type="submit" size="compact-sm" variant="light" loading={isKeeping} disabled={!typed.trim()}>
          Keep the key
        </Button>
        {service.hasKey && (
          <Button size="compact-sm" variant="default" loading={isKeeping} onClick={() => keep(null)}>
            Forget the key
          </Button>
        )}
      </div>
    </form>
  );
}

/** Asks a service something, and says what came of it. */
function ServiceTest({ service, onTested }: { service: WebServiceView; onTested: () => void }) {
  const [isTesting, setTesting] = useState(false);
  const [result, setResult] = useState<{ ok: boolean; message: string } | null>(null);
  const test = () => {
    setTesting(true);
    web
      .test(service.use)
      .then(setResult, (error: unknown) => setResult({ ok: false, message: errorText(error) }))
      .finally(() => {
        setTesting(false);
        onTested();
      });
  };
  return (
    <div className={classes.cardActions}>
      <Button size="compact-sm" variant="default" disabled={isTesting} onClick={test}>
        Test {service.name}
      </Button>
      <TestResult doing={isTesting ? "Asking…" : ""} result={result} />
    </div>
  );
}

interface ServiceProps {
  use: WebServiceView["use"];
  service: WebServiceView | undefined;
  fields: ReactNode;
  onKept: (services: readonly WebServiceView[]) => void;
  onTested: () => void;
}

/** What is set about one service; where none is chosen, only the choice. */
function Service({ use, service, fields, onKept, onTested }: ServiceProps) {
  const kind = useApp((state) => state.config?.web[use] ?? "none");
  const [choice, ...rest] = Children.toArray(fields);
  if (kind === "none" || !service?.name) return choice;
  return (
    <>
      {choice}
      {rest}
      {service.address && <ServiceKey key={`${kind} ${service.address}`} service={service} onKept={onKept} />}
      <p className={service.offered ? "ph-explained" : classes.keyProblem} role="status">
        {service.offered ? `The agent can use ${service.name}.` : `Not offered to the agent: ${service.problem}`}
      </p>
      {service.address && (
        <ServiceTest key={`test ${kind} ${service.address}`} service={service} onTested={onTested} />
      )}
    </>
  );
}

/** Who searches the web and who makes pictures, and which pages inside may be read. */
export default function WebTab() {
  const saved = useApp((state) => state.config?.web);
  const [services, setServices] = useState<readonly WebServiceView[]>([]);
  const load = useCallback(() => void web.services().then((list) => setServices(list.services), tell), []);
  useEffect(() => void loadConfig().catch(tell), []);
  // Another choice or address is another service.
  useEffect(load, [load, saved]);
  const around = (use: WebServiceView["use"]) => (fields: ReactNode) => (
    <Service use={use} service={services.find((one) => one.use === use)} fields={fields} onKept={setServices} onTested={load} />
  );
  return (
    <>
      <ConfigProblem />
      <Described tab="web" around={{ [headings.search]: around("search"), [headings.pictures]: around("pictures") }} />
    </>
  );
}
