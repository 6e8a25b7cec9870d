import { Menu } from "@mantine/core";
import { focusComposer } from "../shell/start";
import { useApp } from "../store/store";
import { beginComparing } from "./actions";

/** The way from the list of models to a comparison of some. */
export function CompareItem() {
  const count = useApp((state) => state.models.models.length);
  if (count < 2) return null;
  const begin = () => {
    beginComparing();
    focusComposer();
  };
  return (
    <>
      <Menu.Item onClick={begin}>Compare models…</Menu.Item>
      <Menu.Divider />
    </>
  );
}
