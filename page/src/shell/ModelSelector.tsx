import { Button, Menu } from "@mantine/core";
import type { ModelView } from "../api/types";
import { changeSettings } from "../store/actions";
import { settingsNow } from "../store/settings";
import { useApp, type AppState } from "../store/store";
import classes from "./App.module.css";
import { CompareItem } from "../compare/CompareItem";
import { CheckIcon, ChevronDownIcon } from "./icons";
import { tell } from "./messages";
import { navigate, settingsPath } from "./router";

/** Return the id of the model that answers the next message here; null where there is none. */
export const currentModelId = (state: AppState): string | null => settingsNow(state).modelId ?? state.models.defaultModelId;

/** Return the model that answers the next message here: the conversation's own, or the default. */
export function currentModel(state: AppState): ModelView | null {
  const id = currentModelId(state);
  return state.models.models.find((model) => model.id === id) ?? null;
}

/** Return what the model is called here; one that is in no list, like a script's, has only its id. */
export function currentModelName(state: AppState): string {
  const id = currentModelId(state);
  return id ? modelName(state, id) : "No model";
}

/** Return what a model is called, by its id. */
export function modelName({ models }: AppState, id: string): string {
  return models.models.find((model) => model.id === id)?.name ?? shortId(id);
}

/** Return an id without the folders of a file in it: `scripted:demo.json`. */
function shortId(id: string): string {
  const named = id.indexOf(":") + 1;
  return named === 0 ? id : id.slice(0, named) + id.slice(Math.max(named, id.lastIndexOf("/") + 1));
}

function Choice({ model, isCurrent }: { model: ModelView; isCurrent: boolean }) {
  const choose = () => void changeSettings({ modelId: model.id }).catch(tell);
  return (
    <Menu.RadioItem
      className={`ph-menu-item ${classes.modelItem}`}
      value={model.id}
      checked={isCurrent}
      checkIcon={<CheckIcon size={16} />}
      onChange={choose}
      closeMenuOnClick
    >
      {model.name}
      <div className="ph-menu-note">
        {model.host || model.provider}
        {model.isDefault && " · default"}
      </div>
      <div className="ph-menu-note">{[model.contextLabel, model.priceLabel].filter(Boolean).join(" · ")}</div>
    </Menu.RadioItem>
  );
}

/** Shows the model of this conversation and switches it. */
export function ModelSelector() {
  const models = useApp((state) => state.models.models);
  const current = useApp(currentModel);
  const name = useApp(currentModelName);
  return (
    <Menu position="bottom-start" width={330}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          size="compact-md"
          className={classes.model}
          classNames={{ label: classes.modelLabel ?? "" }}
          rightSection={<ChevronDownIcon size={15} />}
          aria-label={`Model: ${name}`}
        >
          {name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={classes.modelList}>
          {models.map((model) => (
            <Choice key={model.id} model={model} isCurrent={model.id === current?.id} />
          ))}
        </div>
        {models.length > 0 && <Menu.Divider />}
        <CompareItem />
        <Menu.Item onClick={() => navigate(settingsPath("models"))}>Manage Models…</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
