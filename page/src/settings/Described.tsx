import { Radio, Select, Switch } from "@mantine/core";
import { Fragment, useState, type ReactNode } from "react";
import type { ConfigPatch, ConfigView, Setting } from "../api/types";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { changeConfig } from "./actions";
import { NumberSetting } from "./NumberSetting";
import { Part } from "./Part";
import classes from "./Settings.module.css";
import { TextSetting } from "./TextSetting";

type Value = string | number | boolean | null;

/** Return the value of a setting by its place: "retention.days". */
export function valueAt(config: ConfigView, place: string): Value {
  const found = place.split(".").reduce<unknown>((group, name) => (group as Record<string, unknown>)[name], config);
  return found as Value;
}

/** Return the change of one setting; null gives its default again. */
export function patchAt(place: string, value: Value): ConfigPatch {
  return place.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as ConfigPatch;
}

interface SettingProps<T> {
  about: Setting;
  saved: T;
  save: (value: T) => Promise<void>;
}

/** Show a choice at once; what the server kept has the last word. */
export function useChosen<T>(saved: T, save: (value: T) => Promise<void>): [T, (value: T) => void] {
  const [chosen, setChosen] = useState<{ value: T } | null>(null);
  const change = (value: T) => {
    const wanted = { value };
    setChosen(wanted);
    save(value)
      .catch(tell)
      .finally(() => setChosen((now) => (now === wanted ? null : now)));
  };
  return [chosen ? chosen.value : saved, change];
}

function SwitchSetting({ about, saved, save }: SettingProps<boolean>) {
  const [isOn, change] = useChosen(saved, save);
  return (
    <Switch
      label={about.label}
      description={about.note}
      checked={isOn}
      onChange={(event) => change(event.currentTarget.checked)}
    />
  );
}

/** As many as can be seen at once are shown; more are a list. */
const MOST_SHOWN = 3;

function ChoiceSetting({ about, saved, save }: SettingProps<string>) {
  const [chosen, change] = useChosen(saved, save);
  const data = Object.entries(about.choices).map(([value, label]) => ({ value, label }));
  if (data.length > MOST_SHOWN) {
    return (
      <Select
        aria-label={about.label}
        description={about.note}
        data={data}
        allowDeselect={false}
        w="100%"
        maw={320}
        value={chosen}
        onChange={(value) => value && change(value)}
      />
    );
  }
  return (
    <Radio.Group aria-label={about.label} description={about.note} value={chosen} onChange={change}>
      <div className={classes.stack}>
        {data.map(({ value, label }) => (
          <Radio key={value} value={value} label={label} />
        ))}
      </div>
    </Radio.Group>
  );
}

function Field({ place, about, saved }: { place: string; about: Setting; saved: Value }) {
  const save = (value: Value) => changeConfig(patchAt(place, value));
  if (about.text) {
    // Of these an empty field means none.
    return <TextSetting about={about} saved={String(saved ?? "")} save={(value) => save(value || null)} />;
  }
  if (typeof saved === "boolean") return <SwitchSetting about={about} saved={saved} save={save} />;
  if (typeof saved === "string" && !Object.keys(about.choices).length) {
    return <TextSetting about={about} saved={saved} save={save} />;
  }
  if (typeof saved === "string") return <ChoiceSetting about={about} saved={saved} save={save} />;
  return <NumberSetting about={about} saved={saved} save={save} />;
}

/** Return the settings of a tab by their headings, in the order in which the server describes them. */
export function partsOf(config: ConfigView, tab: Setting["tab"]): Map<string, [string, Setting][]> {
  const parts = new Map<string, [string, Setting][]>();
  for (const [place, about] of Object.entries(config.about)) {
    if (about.tab === tab) parts.set(about.part, [...(parts.get(about.part) ?? []), [place, about]]);
  }
  return parts;
}

interface DescribedProps {
  tab: Setting["tab"];
  /** Only this part. */
  part?: string;
  /** What else stands under a heading, around its settings. */
  around?: Record<string, (fields: ReactNode) => ReactNode>;
}

/** The settings of a tab as the server describes them, under their headings. */
export function Described({ tab, part, around = {} }: DescribedProps) {
  const config = useApp((state) => state.config);
  if (!config) return null;
  const parts = [...partsOf(config, tab)].filter(([title]) => !part || title === part);
  return parts.map(([title, settings]) => {
    const fields = settings.map(([place, about]) => (
      <Field key={place} place={place} about={about} saved={valueAt(config, place)} />
    ));
    return (
      <Part key={title} title={title}>
        {around[title]?.(fields) ?? <Fragment>{fields}</Fragment>}
      </Part>
    );
  });
}
