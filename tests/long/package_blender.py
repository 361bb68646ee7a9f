"""Blender's Cycles (bpy) for jit_packages.py: a scene, as on the processor.

What it ships for compute capabilities without machine code of their own is
12.5 MB of PTX, 74 kernels, which two threads compile in some 6 minutes at the
first start. Random numbers are the same on both devices, so pixels are
compared one by one; a path that turns another way at a rounding shows.
"""
import math
import os
import tempfile


def material(bpy, name, **inputs):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    for key, value in inputs.items():
        shader.inputs[key.replace("_", " ")].default_value = value
    return made


def textured(bpy, name, kind, **inputs):
    """A material with a texture as its colour and, of noise, as bumps."""
    made = material(bpy, name, **inputs)
    tree = made.node_tree
    texture = tree.nodes.new(kind)
    shader = tree.nodes["Principled BSDF"]
    tree.links.new(texture.outputs["Color"], shader.inputs["Base Color"])
    if kind == "ShaderNodeTexNoise":
        bump = tree.nodes.new("ShaderNodeBump")
        tree.links.new(texture.outputs[0], bump.inputs["Height"])
        tree.links.new(bump.outputs["Normal"], shader.inputs["Normal"])
    return made


def build_scene(bpy):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    add = bpy.ops.mesh

    def give(made):
        bpy.context.object.data.materials.append(made)

    add.primitive_plane_add(size=20)
    give(textured(bpy, "floor", "ShaderNodeTexChecker", Roughness=0.3))
    add.primitive_monkey_add(location=(0, 0, 1.2))
    give(material(bpy, "metal", Base_Color=(0.9, 0.6, 0.2, 1), Metallic=1.0,
                  Roughness=0.15))
    add.primitive_uv_sphere_add(location=(2.3, 0.4, 1))
    give(material(bpy, "glass", Transmission_Weight=1.0, Roughness=0.0))
    add.primitive_cube_add(location=(-2.4, 0.3, 1))
    give(textured(bpy, "noise", "ShaderNodeTexNoise"))
    add.primitive_cylinder_add(location=(-1.2, -2, 0.4), radius=0.3, depth=0.8)
    give(textured(bpy, "cells", "ShaderNodeTexVoronoi"))
    add.primitive_ico_sphere_add(location=(0.5, -2, 0.5), radius=0.5,
                                 subdivisions=4)
    give(material(bpy, "skin", Subsurface_Weight=1.0,
                  Base_Color=(0.8, 0.3, 0.2, 1)))
    for kind, energy, place, turn in (
            ("AREA", 400, (3, -3, 5), (0.7, 0.4, 0.5)),
            ("POINT", 150, (-3, -2, 3), (0, 0, 0)),
            ("SUN", 1, (0, 0, 9), (0.6, 0.2, 0))):
        bpy.ops.object.light_add(type=kind, location=place, rotation=turn)
        bpy.context.object.data.energy = energy
    world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (
        0.3, 0.4, 0.6, 1)
    bpy.ops.object.camera_add(location=(0, -8, 4),
                              rotation=(math.radians(66), 0, 0))
    scene = bpy.context.scene
    scene.world, scene.camera = world, bpy.context.object
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y = 96, 72
    scene.render.resolution_percentage = 100
    scene.cycles.samples = 4
    scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = False
    scene.render.image_settings.file_format = "OPEN_EXR"
    scene.render.image_settings.color_depth = "32"
    return scene


def add_volume(bpy, scene):
    bpy.ops.mesh.primitive_cube_add(size=5, location=(0, 0, 1.5))
    made = bpy.data.materials.new("smoke")
    made.use_nodes = True
    tree = made.node_tree
    tree.nodes.remove(tree.nodes["Principled BSDF"])
    volume = tree.nodes.new("ShaderNodeVolumePrincipled")
    noise = tree.nodes.new("ShaderNodeTexNoise")
    tree.links.new(noise.outputs[0], volume.inputs["Density"])
    tree.links.new(volume.outputs[0],
                   tree.nodes["Material Output"].inputs["Volume"])
    bpy.context.object.data.materials.append(made)


def add_rays(bpy, scene):
    """Shaders that send rays themselves, and light through glass."""
    tree = bpy.data.materials["floor"].node_tree
    shader = tree.nodes["Principled BSDF"]
    for kind, name in (("ShaderNodeAmbientOcclusion", "Base Color"),
                       ("ShaderNodeBevel", "Normal")):
        tree.links.new(tree.nodes.new(kind).outputs[0], shader.inputs[name])
    for thing in scene.objects:
        if thing.type == "LIGHT":
            thing.data.cycles.is_caustics_light = True
        elif thing.type == "MESH":
            glass = thing.data.materials[0].name == "glass"
            thing.cycles.is_caustics_caster = glass
            thing.cycles.is_caustics_receiver = not glass


def add_hair(bpy, scene):
    bpy.ops.mesh.primitive_uv_sphere_add(location=(-0.8, -2.2, 0.6), radius=0.4)
    ball = bpy.context.object
    ball.modifiers.new("hair", "PARTICLE_SYSTEM")
    settings = ball.particle_systems[0].settings
    settings.type, settings.count, settings.hair_length = "HAIR", 150, 0.4
    made = bpy.data.materials.new("hair")
    made.use_nodes = True
    tree = made.node_tree
    tree.links.new(tree.nodes.new("ShaderNodeBsdfHairPrincipled").outputs[0],
                   tree.nodes["Material Output"].inputs["Surface"])
    ball.data.materials.append(made)


def add_motion(bpy, scene):
    scene.render.use_motion_blur = True
    for thing in scene.objects:
        if thing.type == "MESH" and thing.location.z > 0.3:
            for frame, move in ((1, 0), (3, 1)):
                thing.location.x += 0.8 * move
                thing.rotation_euler.z += 0.6 * move
                thing.keyframe_insert("location", frame=frame)
                thing.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(2)


def add_lights(bpy, scene):
    for i in range(40):
        bpy.ops.object.light_add(
            type=("POINT", "SPOT", "AREA")[i % 3],
            location=(i % 8 - 3.5, i // 8 * 2 - 4, 1 + i % 5 * 0.7))
        light = bpy.context.object.data
        light.energy = 30
        light.color = (i % 3 / 2, i % 4 / 3, i % 5 / 4)


def render(bpy, np, scene, device, folder):
    scene.cycles.device = device
    scene.render.filepath = os.path.join(folder, device)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(scene.render.filepath + ".exr")
    width, height = image.size
    return np.array(image.pixels[:]).reshape(height, width, 4)[..., :3]


def compare(bpy, np, scene):
    cycles = bpy.context.preferences.addons["cycles"].preferences
    cycles.compute_device_type = "CUDA"
    cycles.get_devices()
    for device in cycles.devices:
        device.use = device.type == "CUDA"
    assert any(device.use for device in cycles.devices), "no CUDA device"
    with tempfile.TemporaryDirectory() as folder:
        host = render(bpy, np, scene, "CPU", folder)
        ours = render(bpy, np, scene, "GPU", folder)
    assert host.std() > 0.1, host.std()
    apart = np.abs(ours - host).max(axis=2)
    return (apart > 0.01).mean(), apart.mean()


def blender():
    import bpy
    import numpy as np

    for add in (None, add_volume, add_rays, add_hair, add_motion, add_lights):
        scene = build_scene(bpy)
        if add:
            add(bpy, scene)
        found = compare(bpy, np, scene)
        name = add.__name__ if add else "scene"
        print("%-10s %.4f of the pixels, %.1e in the mean" % (name, *found))
        assert found[0] < 0.02 and found[1] < 2e-3, (name, found)
