import { ActionIcon, Button } from "@mantine/core";
import { useId, useState, type KeyboardEvent } from "react";
import type { ConfigView, Profile } from "../api/types";
import { CheckIcon, MinusIcon, PlusIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { changeConfig } from "./actions";
import { Confirm } from "./Confirm";
import { ProfileForm } from "./ProfileForm";
import { neighbour, newProfile, withoutProfile } from "./profiles";
import classes from "./Settings.module.css";

interface ListProps {
  profiles: readonly Profile[];
  active: string | null;
  selected: string | null;
  onSelect: (id: string) => void;
  onEdit: () => void;
}

function Row({ profile, active, selected, onSelect, onEdit, id }: ListProps & { profile: Profile; id: string }) {
  const model = useApp((state) => state.models.models.find((each) => each.id === profile.settings.modelId));
  const isActive = profile.id === active;
  return (
    <li
      id={id}
      role="option"
      aria-selected={profile.id === selected}
      className={classes.profile}
      onClick={() => onSelect(profile.id)}
      onDoubleClick={onEdit}
    >
      <span className={classes.marker}>{isActive && <CheckIcon size={16} />}</span>
      <span className={classes.profileText}>
        {profile.name}
        <span className={classes.profileModel}>
          {profile.settings.modelId ? (model?.name ?? "A model that is gone") : "Default model"}
        </span>
      </span>
      {isActive && <span className={classes.quiet}>active</span>}
    </li>
  );
}

function List(props: ListProps) {
  const { profiles, selected, onSelect, onEdit } = props;
  const base = useId();
  const idOf = (id: string | null) => `${base}-${id}`;
  const onKeyDown = (event: KeyboardEvent) => {
    const at = profiles.findIndex((profile) => profile.id === selected);
    const to = { ArrowDown: at + 1, ArrowUp: Math.max(at - 1, 0), Home: 0, End: profiles.length - 1 }[event.key];
    if (event.key === "Enter" && selected) onEdit();
    else if (to === undefined) return;
    else if (profiles[to]) onSelect(profiles[to].id);
    event.preventDefault();
  };
  return (
    <ul
      role="listbox"
      aria-label="Profiles"
      tabIndex={0}
      aria-activedescendant={selected ? idOf(selected) : undefined}
      className={classes.profiles}
      onKeyDown={onKeyDown}
    >
      {profiles.map((profile) => (
        <Row key={profile.id} {...props} profile={profile} id={idOf(profile.id)} />
      ))}
    </ul>
  );
}

interface ToolsProps {
  config: ConfigView;
  chosen: Profile | null;
  onRemoved: () => void;
  onEdit: (profile: Profile) => void;
}

function Tools({ config, chosen, onRemoved, onEdit }: ToolsProps) {
  const isActive = chosen !== null && config.activeProfile === chosen.id;
  const remove = async () => {
    if (!chosen) return;
    await changeConfig(withoutProfile(config, chosen.id));
    onRemoved();
  };
  return (
    <div role="toolbar" aria-label="Profiles" className="ph-toolbar">
      <Confirm question={`Delete the profile “${chosen?.name ?? ""}”?`} action="Delete" onConfirm={remove}>
        {(ask) => (
          <ActionIcon aria-label="Delete the profile" disabled={!chosen} onClick={ask}>
            <MinusIcon size={16} />
          </ActionIcon>
        )}
      </Confirm>
      <Button size="compact-sm" variant="default" leftSection={<PlusIcon size={14} />} onClick={() => onEdit(newProfile())}>
        Add a profile
      </Button>
      <Button size="compact-sm" variant="subtle" color="gray" disabled={!chosen} onClick={() => chosen && onEdit(chosen)}>
        Edit
      </Button>
      <span className="ph-space" />
      <Button
        size="compact-sm"
        variant="subtle"
        color="gray"
        disabled={!chosen}
        onClick={() => chosen && void changeConfig({ activeProfile: isActive ? null : chosen.id }).catch(tell)}
      >
        {isActive ? "Use none" : "Make active"}
      </Button>
    </div>
  );
}

/** The profiles: named settings for new conversations, of which one may be active. */
export function Profiles() {
  const config = useApp((state) => state.config);
  const [selected, setSelected] = useState<string | null>(config?.activeProfile ?? null);
  const [editing, setEditing] = useState<Profile | null>(null);
  if (!config) return null;
  const { profiles } = config;
  const chosen = profiles.find((profile) => profile.id === selected) ?? null;
  return (
    <section aria-label="Profiles" className={classes.part}>
      <h2 className="ph-section-title">Profiles</h2>
      <p className="ph-explained">
        A profile is a set of settings with a name; new conversations begin with the active one.
      </p>
      <div className={`ph-list-box ${classes.box}`}>
        {profiles.length > 0 ? (
          <List
            profiles={profiles}
            active={config.activeProfile}
            selected={chosen?.id ?? null}
            onSelect={setSelected}
            onEdit={() => setEditing(chosen)}
          />
        ) : (
          <p className={`ph-lead ${classes.none}`}>No profiles yet.</p>
        )}
        <Tools
          config={config}
          chosen={chosen}
          onRemoved={() => setSelected(neighbour(profiles, selected ?? ""))}
          onEdit={setEditing}
        />
      </div>
      <ProfileForm profile={editing} config={config} onClose={() => setEditing(null)} onSaved={setSelected} />
    </section>
  );
}
